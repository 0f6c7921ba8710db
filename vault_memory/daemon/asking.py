"""A question goes to the daemon of the vault when one runs, for its warm model; without one it is answered here.

What comes back is of the JSON contract either way. A face calls these, and needs not know who answered.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.app import contract
from vault_memory.daemon.client import ask

if TYPE_CHECKING:
    from vault_memory.app import VaultMemory
    from vault_memory.app.indexing import Progress


def search(
    memory: "VaultMemory",
    query: str,
    *,
    scopes: Sequence[str] | None,
    arguments: Mapping[str, Any],
    progress: "Progress | None" = None,
) -> dict[str, Any]:
    """`search`: `arguments` are those of the JSON contract beside query and scopes.

    `scopes` None is a person who means all of the vault; an empty list finds nothing.
    """

    def alone(among: Sequence[str] | None) -> dict[str, Any]:
        wanted = contract.search_arguments(arguments)
        _look(memory, progress)
        if (arguments.get("mode") or memory.config.recall.mode) in ("semantic", "rrf"):
            memory.warm()
        named = memory.scopes() if among is None else among
        return contract.of_search(memory.search(query, scopes=named, refresh=False, **wanted))

    return _answered(memory, "search", {**arguments, "query": query}, scopes) or alone(scopes)


def context(
    memory: "VaultMemory",
    prompt: str,
    *,
    scopes: Sequence[str] | None,
    arguments: Mapping[str, Any],
    progress: "Progress | None" = None,
) -> dict[str, Any]:
    """`context`: `arguments` are those of the JSON contract beside prompt and scopes.

    `scopes` None is a person who means all of the vault; an empty list gives nothing.
    """

    def alone(among: Sequence[str] | None) -> dict[str, Any]:
        wanted = contract.context_arguments(arguments)
        _look(memory, progress)
        if prompt.strip() and memory.config.recall.mode in ("semantic", "rrf"):
            memory.warm()
        named = memory.scopes() if among is None else among
        return contract.of_context(memory.context(prompt, scopes=named, refresh=False, **wanted))

    return _answered(memory, "context", {**arguments, "prompt": prompt}, scopes) or alone(scopes)


def _answered(
    memory: "VaultMemory", call: str, arguments: Mapping[str, Any], scopes: Sequence[str] | None
) -> dict[str, Any] | None:
    """What the daemon answers; None when none runs."""
    if scopes is None:
        known = ask(memory.state.socket, "scopes", {})
        if known is None:
            return None
        scopes = known["scopes"]
    return ask(memory.state.socket, call, {**arguments, "scopes": list(scopes)})


def without_daemon(memory: "VaultMemory") -> None:
    """Say why meaning takes no part: a short-lived command loads no model unless it is asked to."""
    if memory.semantic.embedder is None:
        memory.semantic.reason = "no daemon"


def _look(memory: "VaultMemory", progress: "Progress | None" = None) -> None:
    without_daemon(memory)
    memory.refresh(progress)
