"""What the commands that ask need of the daemon: a question goes to it when one runs, and is answered here when not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.cli.options import Context
from vault_memory.cli.search_text import belong_to_one_person
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.context.calls import ContextOptions
    from vault_memory.contract.answers import ContextBlockJson, SearchAnswerJson
    from vault_memory.daemon import client, query_or_local
    from vault_memory.search.calls import SearchOptions
else:
    client = lazy_module("vault_memory.daemon.client")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")

MOST_NAMES = 8
"""Persons and channels that an error lists"""


def answer_search(
    context: Context, query: str, scopes: Sequence[str], options: "SearchOptions"
) -> "SearchAnswerJson":
    """Search through the daemon, else by itself; no scopes means all of the vault, as an explicit list."""
    with context.open() as memory, context.progress() as progress:
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
    """The memory block for a prompt; `everything` means all of the vault.

    Without names it is the memory of the only person. Raises ContextNeedsName where that is not clear.
    """
    with context.open() as memory, context.progress() as progress:
        if not scopes:
            scopes = query_or_local.all_scopes(memory, progress)
            if not everything and not belong_to_one_person(scopes):
                raise ContextNeedsName(scopes)
        return query_or_local.context(
            memory, prompt, scopes=scopes, options=options, progress=progress
        )


class ContextNeedsName(UsageError):
    """Nothing says whose memory a prompt is to get, and the vault knows several persons or a channel."""

    def __init__(self, scopes: Sequence[str]) -> None:
        known = [scope for scope in scopes if not scope.startswith("group:")]
        names = ", ".join(known[:MOST_NAMES]) + (
            ", …" if len(known) > MOST_NAMES else ""
        )
        super().__init__(
            f"it is not clear whose memory `context` should give: this vault knows {names}",
            hint="name a person with `--user NAME` or a place with `--channel NAME` or `--group NAME`; "
            "`--all` gives the notes of everybody",
            scopes=list(scopes),
        )


def ask_daemon(context: Context, call: str) -> dict[str, Any] | None:
    """What the daemon of this vault answers; None when none runs."""
    with context.open() as memory:
        return client.ask(memory.vault.state.socket, call, {})
