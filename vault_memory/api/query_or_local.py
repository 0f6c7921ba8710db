"""Asks the daemon of the vault, whose model is warm; without a daemon it answers by itself.

Both answers are of the JSON contract, so the faces do not need to know who answered.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from vault_memory.api import json_contract
from vault_memory.api.daemon_client import BEHIND, PATIENCE_SECONDS, DaemonRefused, ask
from vault_memory.contract import as_json
from vault_memory.index.schema import has_vectors
from vault_memory.models.embedding import embedders

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.context.calls import ContextOptions
    from vault_memory.contract.answers import ContextBlockJson, SearchAnswerJson
    from vault_memory.ingest.lifecycle import Progress
    from vault_memory.search.calls import SearchOptions

MODES_WITH_MODEL = ("semantic", "rrf")
"""Ranking modes that a short-lived command loads any model for"""
NO_VECTORS = "no note has a vector; `vault-memory index` makes them"
TOO_SLOW = "one search does not wait for this model; `--mode semantic` does"


def search(
    memory: "VaultMemory",
    query: str,
    *,
    scopes: Sequence[str] | None,
    options: "SearchOptions",
    progress: "Progress | None" = None,
    patience: float = PATIENCE_SECONDS,
) -> "SearchAnswerJson":
    """Search. `scopes` None means all of the vault; an empty list finds nothing.

    The daemon has `patience` seconds for its answer; with 0 it is not asked.
    """
    arguments = {"query": query, **_given(options)}
    answer: SearchAnswerJson | None = _ask(memory, "search", arguments, scopes, patience)
    if answer is not None:
        return answer
    memory.refresh(progress, briefly=True)
    mode = options.get("mode") or memory.vault.config.recall.mode
    if mode in MODES_WITH_MODEL or (mode != "keyword" and _may_load(memory)):
        memory.warm()
    named = memory.scopes() if scopes is None else scopes
    return json_contract.of_search(
        memory.searcher.search(query, named, {**options, "refresh": False})
    )


def context(
    memory: "VaultMemory",
    prompt: str,
    *,
    scopes: Sequence[str],
    options: "ContextOptions",
    progress: "Progress | None" = None,
    patience: float = PATIENCE_SECONDS,
) -> "ContextBlockJson":
    """Compose the memory block for a prompt. An empty list of scopes gives nothing.

    The daemon has `patience` seconds for its answer; with 0 it is not asked.
    """
    arguments = {"prompt": prompt, **_given(options)}
    # Rebuilding a past day takes seconds, and the daemon answers others meanwhile.
    if options.get("as_of") is None:
        answer: ContextBlockJson | None = _ask(memory, "context", arguments, scopes, patience)
        if answer is not None:
            return answer
    memory.refresh(progress, briefly=True)
    if prompt.strip() and memory.vault.config.recall.mode in MODES_WITH_MODEL:
        memory.warm()
    fresh: ContextOptions = {**options, "refresh": False}
    block = memory.context(prompt, scopes=scopes, **fresh)
    return cast("ContextBlockJson", as_json(block))


def all_scopes(memory: "VaultMemory", progress: "Progress | None" = None) -> list[str]:
    """The names of all scopes of the vault, from its daemon when one runs."""
    try:
        answer = ask(memory.vault.state.socket, "scopes", {})
    except DaemonRefused as refused:
        # The index of the daemon is behind the vault: this process reads the vault.
        if refused.code != BEHIND:
            raise
        answer = None
    if answer is not None:
        return list(answer["scopes"])
    memory.refresh(progress)
    return memory.scopes()


def _may_load(memory: "VaultMemory") -> bool:
    """Return whether one search may load the model; if not, note why."""
    semantic = memory.vault.semantic
    settings = memory.vault.config.embedding
    if settings.kind == "off":
        return False
    reason = NO_VECTORS
    # Asked first: without vectors, no module of a model is imported.
    if has_vectors(memory.vault.indexing.index()):
        reason = embedders.available(settings, cache=semantic.cache)
        # Fault: a large model or a slow server would delay a search by words.
        if not reason and not embedders.loads_quickly(settings, cache=semantic.cache):
            reason = TOO_SLOW
    semantic.reason = reason or semantic.reason
    return not reason


def _given(options: "SearchOptions | ContextOptions") -> dict[str, Any]:
    """The options for the daemon, as JSON. An empty text or list is no option."""
    return {
        name: as_json(value)
        for name, value in options.items()
        if value is not False and value not in (None, "", ()) and name != "refresh"
    }


def _ask(
    memory: "VaultMemory",
    call: str,
    arguments: Mapping[str, Any],
    scopes: Sequence[str] | None,
    patience: float,
) -> Any:
    """What the daemon answers; None when none runs, or it has not caught up with the vault."""
    if not patience:
        without_daemon(memory, "the daemon gives no answer")
        return None
    socket = memory.vault.state.socket
    answer = None
    try:
        if scopes is None:
            listing = ask(socket, "scopes", {}, patience)
            scopes = None if listing is None else listing["scopes"]
        if scopes is not None:
            request = {**arguments, "scopes": list(scopes)}
            answer = ask(socket, call, request, patience)
    except DaemonRefused as refused:
        # Fault: a daemon that was not restarted after an update refuses arguments that
        # it does not know. An argument that is wrong in itself is refused again without
        # the daemon.
        if refused.code not in (BEHIND, "usage_error"):
            raise
        is_busy = refused.code == BEHIND
        without_daemon(memory, "the daemon is busy" if is_busy else "the daemon is an older one")
        return None
    if answer is None:
        without_daemon(memory)
    return answer


def without_daemon(memory: "VaultMemory", reason: str = "no daemon") -> None:
    """Say why vectors take no part: a short-lived command loads no model unless it is asked to."""
    semantic = memory.vault.semantic
    # Fault: a daemon that is started because of this reason would change nothing.
    if memory.vault.config.embedding.kind == "off":
        return
    if semantic.embedder is None:
        semantic.reason = reason
