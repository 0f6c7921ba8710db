"""The programs that a vault is plugged into: how they are told of it, and what they ask. Cheap to import."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.hosts.hooking import run as run
    from vault_memory.hosts.installing import Changed as Changed
    from vault_memory.hosts.installing import install as install
    from vault_memory.hosts.installing import uninstall as uninstall
    from vault_memory.hosts.wiring import HOSTS as HOSTS
    from vault_memory.hosts.wiring import Plan as Plan
    from vault_memory.hosts.wiring import Wire as Wire
    from vault_memory.hosts.wiring import plan as plan

_WINDOW = {
    "run": "hooking", "Changed": "installing", "install": "installing", "uninstall": "installing", "HOSTS": "wiring",
    "Plan": "wiring", "Wire": "wiring", "plan": "wiring",
}  # fmt: skip

__all__ = ["HOSTS", "Changed", "Plan", "Wire", "install", "plan", "run", "uninstall"]


def __getattr__(name: str) -> object:
    if name in _WINDOW:
        from importlib import import_module

        return getattr(import_module(f"vault_memory.hosts.{_WINDOW[name]}"), name)
    raise AttributeError(name)
