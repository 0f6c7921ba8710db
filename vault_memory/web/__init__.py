"""HTTP: the calls of VaultMemory for bots, each let in by a token that opens its own scopes. Needs the extra `web`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.web.listening import at_address as at_address
    from vault_memory.web.listening import at_socket as at_socket
    from vault_memory.web.listening import listen as listen
    from vault_memory.web.serving import application as application

__all__ = ["application", "at_address", "at_socket", "listen"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module  # only when it is used: starlette and uvicorn come with an extra

    return getattr(import_module(f"vault_memory.web.{'serving' if name == 'application' else 'listening'}"), name)
