"""Answers questions through the daemon if one runs, else in this process."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from vault_memory.api import daemon_client, query_or_local
from vault_memory.cli.options import Context
from vault_memory.cli.search_text import belong_to_one_person
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.context.calls import ContextOptions
    from vault_memory.contract.answers import ContextBlockJson, SearchAnswerJson
    from vault_memory.contract.status_answers import StatusJson
    from vault_memory.search.calls import SearchOptions

MOST_NAMES = 8
"""Maximum number of people and channels in an error message"""


def answer_search(
    context: Context, query: str, scopes: Sequence[str], options: "SearchOptions"
) -> "SearchAnswerJson":
    """Search the named scopes; without any, the complete vault."""
    with context.open(marks=False) as memory, context.progress() as progress:
        return query_or_local.search(
            memory, query, scopes=scopes or None, options=options, progress=progress
        )


def answer_context(
    context: Context,
    prompt: str,
    scopes: Sequence[str],
    options: "ContextOptions",
    *,
    everything: bool,
) -> "ContextBlockJson":
    """Return the memory block for a prompt; `everything` opens the complete vault.

    Without scopes it is the memory of the only person. Raises ContextNeedsName when there
    are several people, or a channel.
    """
    with context.open(marks=False) as memory, context.progress() as progress:
        if not scopes:
            scopes = query_or_local.all_scopes(memory, progress)
            if not everything and not belong_to_one_person(scopes):
                raise ContextNeedsName(scopes)
        memory.learning.commit_before(options.get("session"), scopes, options.get("now"))
        return query_or_local.context(
            memory, prompt, scopes=scopes, options=options, progress=progress
        )


class ContextNeedsName(UsageError):
    """The vault has several people or a channel, and the call names none of them."""

    def __init__(self, scopes: Sequence[str]) -> None:
        candidates = [scope for scope in scopes if not scope.startswith("group:")]
        names = candidates[:MOST_NAMES]
        if len(candidates) > MOST_NAMES:
            names.append("…")
        super().__init__(
            f"it is not clear whose memory to give: this vault has {', '.join(names)}",
            hint="name a person with `--user NAME`, or a place with `--channel NAME` or "
            "`--group NAME`; `--all` gives the notes of everybody",
            scopes=list(scopes),
        )


def daemon_status(memory: "VaultMemory") -> "StatusJson | None":
    """Return the status as the vault's daemon knows it; None when no daemon runs."""
    answer = daemon_client.ask(memory.vault.state.socket, "status", {})
    return cast("StatusJson | None", answer)
