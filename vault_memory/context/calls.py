"""The call that a bot begins each turn with: the memory block for its prompt."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, TypedDict, get_args

from vault_memory.context import blocks, gather, live_notes
from vault_memory.context.past import as_of
from vault_memory.contract import Purpose
from vault_memory.edits.calls import EditCalls, aware
from vault_memory.errors import UsageError
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.models.llm import policy_tables
from vault_memory.rules.learning.policy import secret_signs
from vault_memory.rules.paths.scopes import check_scopes
from vault_memory.search.calls import SearchCalls, SearchQuery

if TYPE_CHECKING:
    from vault_memory.context.blocks import Ask, ContextBlock, ContextRequest
    from vault_memory.context.live_notes import Authors
    from vault_memory.index.store import Index
    from vault_memory.search.results import Answer, Hit

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


class ContextOptions(TypedDict, total=False):
    """What a caller may say beside the prompt and the scopes; None is as if left out."""

    purpose: Purpose
    budget: int | None
    session: str | None
    confirmation: str
    automatic: bool
    private: bool
    now: datetime | None
    refresh: bool
    """whether changed notes are read first; by default they are"""
    as_of: date | None
    """the day at whose end the block would have been this"""
    preview: bool
    """whether the quoted lines do not count as used"""


class ContextCalls:
    """Compose memory blocks from the notes of one vault."""

    def __init__(self, searcher: SearchCalls, edits: EditCalls | None = None) -> None:
        """`edits` knows the earlier versions of the notes, for the blocks of past days."""
        self.vault = searcher.vault
        self._edits = edits
        self._searcher = searcher
        self._authors: Authors | None = None

    @rebuild_if_damaged
    def context(
        self, prompt: str, scopes: Sequence[str], options: ContextOptions | None = None
    ) -> "ContextBlock":
        """Compose the memory block for a prompt; see `VaultMemory.context`."""
        options = options or {}
        _check(options)
        check_scopes(scopes)
        day = options.get("as_of")
        if day is not None and self._edits is not None:
            return as_of.context_as_of(self._edits, prompt, scopes, options, day)
        config = self.vault.config
        if not config.recall.enabled:
            reason = "`[recall] enabled` is false"
            omitted = blocks.Cut("all", reason)
            return blocks.ContextBlock("", (), (omitted,), self._searcher.freshness())
        if options.get("refresh", True):
            self.vault.indexing.refresh()
        moment = aware(options.get("now"))
        request = self._request(prompt, scopes, options, moment)
        why_not = self._why_not_recalled(options.get("automatic")) if prompt.strip() else ""
        block, read = self._compose(request, moment, why_not)
        if not options.get("preview"):
            self._searcher.note_reads(read, moment, request.session)
        return block

    def _request(
        self, prompt: str, scopes: Sequence[str], options: ContextOptions, moment: datetime
    ) -> "ContextRequest":
        """The request of the caller with the settings of the configuration."""
        config = self.vault.config
        budget = options.get("budget")
        is_briefing = options.get("purpose") == "briefing"
        if budget is None:
            budget = config.max_memory_chars
        is_automatic = options.get("automatic")
        return blocks.ContextRequest(
            prompt=prompt,
            scopes=tuple(scopes),
            today=moment.date(),
            owner=config.layout.user,
            briefing=is_briefing,
            session=options.get("session") or "",
            confirmation=options.get("confirmation", ""),
            budget=budget,
            dated_days=config.sleep_cycle.auto_load_dated_days,
            most_facts=config.facts.max_knowledge_facts,
            single=config.facts.single,
            most_lines=config.memory_search.auto_recall_limit
            if is_automatic
            else blocks.MOST_LINES,
            memory_budget=config.recall.memory_budget,
            private=options.get("private", False),
            episode=config.learning.episodes and not is_briefing,
        )

    def _compose(
        self, request: "ContextRequest", moment: datetime, why_not: str
    ) -> "tuple[ContextBlock, list[Hit]]":
        """Compose the block, and list the fading items in it.

        `why_not` is the reason to recall no lines, empty to recall them.
        """
        folder = self.vault.folder
        index = self.vault.indexing.index()
        if self._authors is None:
            self._authors = live_notes.Authors(folder)
        # Named before the notes are read: a note that is indexed meanwhile still counts as stale.
        unread = self._searcher.unread_notes()
        ask = None if why_not else self._ask(index, moment, request.session)
        read: list[Hit] = []
        # Fault: a note that changes between the search and the quotation would be quoted wrongly.
        with folder.held(), index.reading():
            notes = live_notes.LiveNotes(folder, self._authors, index.revision_of, self._masked)
            block = gather.build(index, notes, request, ask, read)
            freshness = self._searcher.freshness_of(index, unread)
            unknown_scopes = self._searcher.unknown_scopes(index, request.scopes)
        omitted = [blocks.Cut(*entry) for entry in block.cut]
        if why_not:
            omitted.append(blocks.Cut("recalled", why_not))
        answer = blocks.ContextBlock(
            block.text,
            tuple(blocks.Part(*entry) for entry in block.lengths),
            tuple(omitted),
            freshness,
            unknown_scopes,
        )
        return answer, read

    def _masked(self, text: str) -> str:
        """A turn without its secrets."""
        cues = policy_tables.policy_cues(self.vault.state.path)
        return secret_signs.masked(text, cues.is_secret)

    def _why_not_recalled(self, automatic: bool | None) -> str:
        """The setting that forbids to look for lines, else an empty text."""
        settings = self.vault.config.memory_search
        if not settings.enabled:
            return "`[memory_search] enabled` is false"
        if automatic and not settings.auto_recall:
            return "`[memory_search] auto_recall` is off"
        return ""

    def _ask(self, index: "Index", moment: datetime, session: str) -> "Ask":
        """A function that searches for lines related to a prompt."""
        recall = self.vault.config.recall

        def ask(
            text: str, scopes: Sequence[str], limit: int, kinds: Sequence[str] = ()
        ) -> "Answer":
            query = SearchQuery(
                text,
                scopes,
                now=moment,
                mode=recall.mode,
                limit=limit,
                kinds=kinds,
                session=session,
                gated=True,
                episodes_since=self._searcher.episodes_since(moment),
                fades=self.vault.config.lifecycle.enabled,
                single=self.vault.config.facts.single,
            )
            return self._searcher.answer(index, query)

        return ask


def _check(options: ContextOptions) -> None:
    unknown = options.keys() - ContextOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"context() got an unexpected keyword argument {min(unknown)!r}")
    purpose, budget = options.get("purpose", "chat"), options.get("budget")
    if purpose not in PURPOSES:
        raise UsageError(
            f"there is no purpose `{purpose}`", hint=f"the purposes are {', '.join(PURPOSES)}"
        )
    if budget is not None and budget < 0:
        raise UsageError(
            f"a budget is a number of characters, not {budget}", hint="0 sets no limit"
        )
