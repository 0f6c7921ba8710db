"""A question goes to the daemon when one runs, and is answered here when none does."""

from collections.abc import Mapping, Sequence
from typing import Any

from vault_memory.app import VaultMemory, contract
from vault_memory.cli.options import Context


def answer_search(context: Context, query: str, scopes: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Search through the daemon, else by itself; no scopes means all of the vault, as an explicit list."""
    with context.open() as memory:
        from vault_memory.daemon import ask

        everything = {**arguments, "query": query, "scopes": list(scopes)}
        if not scopes:
            known = ask(memory.state.socket, "scopes", {})
            if known is None:
                return _alone(memory, context, query, scopes, arguments)
            everything["scopes"] = known["scopes"]
        return ask(memory.state.socket, "search", everything) or _alone(memory, context, query, scopes, arguments)


def _alone(
    memory: VaultMemory, context: Context, query: str, scopes: Sequence[str], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    without_daemon(memory)
    with context.progress() as progress:
        memory.refresh(progress)
    if (arguments.get("mode") or memory.config.recall.mode) in ("semantic", "rrf"):
        memory.warm()
    wanted = contract.search_arguments(arguments)
    return contract.of_search(memory.search(query, scopes=scopes or memory.scopes(), refresh=False, **wanted))


def without_daemon(memory: VaultMemory) -> None:
    """Say why meaning takes no part: a short-lived command loads no model unless it is asked to."""
    memory.semantic.reason = "no daemon"


def ask_daemon(context: Context, call: str) -> dict[str, Any] | None:
    """What the daemon of this vault answers; None when none runs."""
    from vault_memory.daemon import ask

    with context.open() as memory:
        return ask(memory.state.socket, call, {})
