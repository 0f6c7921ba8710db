"""The process that runs beside a chat bot: the loop, the lock, the socket. Cheap to import for who only asks it."""

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from vault_memory.daemon.client import DaemonRefused as DaemonRefused
    from vault_memory.daemon.client import ask as ask
    from vault_memory.daemon.loop import Change as Change
    from vault_memory.daemon.loop import Daemon as Daemon
    from vault_memory.daemon.loop import Stopping as Stopping

__all__ = ["Change", "Daemon", "DaemonRefused", "Stopping", "ask"]


def __getattr__(name: str) -> object:
    if name in ("Change", "Daemon", "Stopping"):
        from vault_memory.daemon import loop

        return getattr(loop, name)
    if name in ("DaemonRefused", "ask"):
        from vault_memory.daemon import client

        return getattr(client, name)
    raise AttributeError(name)
