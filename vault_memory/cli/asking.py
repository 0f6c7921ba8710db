"""What the commands that ask need of the daemon: a question goes to it when one runs, and is answered here when not."""

from collections.abc import Mapping, Sequence
from typing import Any

from vault_memory.cli.options import Context


def answer_search(context: Context, query: str, scopes: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Search through the daemon, else by itself; no scopes means all of the vault, as an explicit list."""
    from vault_memory.daemon import asking

    with context.open() as memory, context.progress() as progress:
        return asking.search(memory, query, scopes=scopes or None, arguments=arguments, progress=progress)


def answer_context(
    context: Context, prompt: str, scopes: Sequence[str], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The memory block for a prompt, likewise."""
    from vault_memory.daemon import asking

    with context.open() as memory, context.progress() as progress:
        return asking.context(memory, prompt, scopes=scopes or None, arguments=arguments, progress=progress)


def ask_daemon(context: Context, call: str) -> dict[str, Any] | None:
    """What the daemon of this vault answers; None when none runs."""
    from vault_memory.daemon import ask

    with context.open() as memory:
        return ask(memory.state.socket, call, {})
