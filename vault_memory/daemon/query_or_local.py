"""A question goes to the daemon of the vault when one runs, for its warm model; without one it is answered here.

What comes back is of the JSON contract either way. A face calls these, and needs not know who answered.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract
from vault_memory.daemon.client import BEHIND, DaemonRefused, ask

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.ingest.lifecycle import Progress


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
        wanted = json_contract.search_arguments(arguments)
        memory.refresh(progress, briefly=True)
        if (arguments.get("mode") or memory.vault.config.recall.mode) in (
            "semantic",
            "rrf",
        ):
            memory.warm()
        named = memory.scopes() if among is None else among
        return json_contract.of_search(
            memory.search(query, scopes=named, refresh=False, **wanted)
        )

    return _answered(memory, "search", {**arguments, "query": query}, scopes) or alone(
        scopes
    )


def context(
    memory: "VaultMemory",
    prompt: str,
    *,
    scopes: Sequence[str],
    arguments: Mapping[str, Any],
    progress: "Progress | None" = None,
) -> dict[str, Any]:
    """`context`: `arguments` are those of the JSON contract beside prompt and scopes. An empty list gives nothing."""

    def alone() -> dict[str, Any]:
        wanted = json_contract.context_arguments(arguments)
        memory.refresh(progress, briefly=True)
        if prompt.strip() and memory.vault.config.recall.mode in ("semantic", "rrf"):
            memory.warm()
        return json_contract.of_context(
            memory.context(prompt, scopes=scopes, refresh=False, **wanted)
        )

    return (
        _answered(memory, "context", {**arguments, "prompt": prompt}, scopes) or alone()
    )


def all_scopes(memory: "VaultMemory", progress: "Progress | None" = None) -> list[str]:
    """The names of all scopes of the vault, from its daemon when one runs."""
    try:
        answer = ask(memory.vault.state.socket, "scopes", {})
    except DaemonRefused as refused:
        if refused.code != BEHIND:
            raise
        answer = None
    if answer is not None:
        return list(answer["scopes"])
    memory.refresh(progress)
    return memory.scopes()


def _answered(
    memory: "VaultMemory",
    call: str,
    arguments: Mapping[str, Any],
    scopes: Sequence[str] | None,
) -> dict[str, Any] | None:
    """What the daemon answers; None when none runs, or it has not caught up with the vault."""
    try:
        if scopes is None:
            known = ask(memory.vault.state.socket, "scopes", {})
            scopes = None if known is None else known["scopes"]
        answer = (
            None
            if scopes is None
            else ask(
                memory.vault.state.socket, call, {**arguments, "scopes": list(scopes)}
            )
        )
    except DaemonRefused as refused:
        # A daemon that was not restarted after an update refuses arguments that it does not know.
        # What is wrong in itself is refused again without it.
        if refused.code not in (BEHIND, "usage_error"):
            raise
        without_daemon(
            memory,
            "the daemon is busy"
            if refused.code == BEHIND
            else "the daemon is an older one",
        )
        return None
    if answer is None:
        without_daemon(memory)
    return answer


def without_daemon(memory: "VaultMemory", reason: str = "no daemon") -> None:
    """Say why meaning takes no part: a short-lived command loads no model unless it is asked to."""
    if memory.vault.semantic.embedder is None:
        memory.vault.semantic.reason = reason
