"""The call of VaultMemory that a bot begins each turn with: what goes into its prompt."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from vault_memory.edits.calls import aware as moment
from vault_memory.errors import UsageError
from vault_memory.facts.calls import FactCalls, _checked
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.context import blocks, gather, live_notes
    from vault_memory.context.blocks import Ask, ContextBlock, ContextRequest
    from vault_memory.context.live_notes import Authors
    from vault_memory.index.store import Index
    from vault_memory.search import query
    from vault_memory.search.freshness import Freshness
    from vault_memory.search.results import Answer
else:
    blocks = lazy_module("vault_memory.context.blocks")
    gather = lazy_module("vault_memory.context.gather")
    live_notes = lazy_module("vault_memory.context.live_notes")
    query = lazy_module("vault_memory.search.query")

PURPOSES = ("chat", "briefing")


class ContextCalls(FactCalls):
    """What VaultMemory is made of besides."""

    _authors: "Authors | None" = None

    @rebuild_if_damaged
    def context(
        self,
        prompt: str = "",
        *,
        scopes: Sequence[str],
        purpose: str = "chat",
        budget: int | None = None,
        session: str | None = None,
        confirmation: str = "",
        automatic: bool = False,
        private: bool = False,
        now: datetime | None = None,
        refresh: bool = True,
    ) -> "ContextBlock":
        """The memory block for a prompt: quoted data, in a fixed order, read from the notes as they are now.

        `budget` is the length of the whole block in characters (else `max_memory_chars`; 0: no limit), of which user
        and channel memory are never cut. A `briefing` holds nothing personal. `session` is the conversation whose own
        turns are left out, `confirmation` what a task was about that was confirmed just now. Lines that have to do
        with the prompt are looked up; with `automatic`, as for a hook that nobody asked, only as `[memory_search]`
        allows. When `scopes` name a channel, everybody there reads the answer: the notes of persons are left out unless
        `private` is true. Raises UsageError.
        """
        _check(purpose, budget)
        _checked(scopes)
        if not self.config.recall.enabled:
            return blocks.ContextBlock(
                "",
                (),
                (blocks.Cut("all", "`[recall] enabled` is false"),),
                self.freshness(),  # type: ignore[attr-defined]
            )
        if refresh:
            self.indexing.refresh()
        at = moment(now)
        wanted = self._wanted(
            prompt=prompt,
            scopes=tuple(scopes),
            today=at.date(),
            briefing=purpose == "briefing",
            session=session or "",
            confirmation=confirmation,
            private=private,
            budget=self.config.max_memory_chars if budget is None else budget,
            most_lines=self.config.memory_search.auto_recall_limit
            if automatic
            else self.config.recall.top_k,
        )
        return self._built(
            wanted, at, self._why_not_recalled(automatic) if prompt.strip() else ""
        )

    def _wanted(self, **asked: Any) -> "ContextRequest":
        """What is asked for, and what the configuration says to it."""
        settings = self.config
        return blocks.ContextRequest(
            owner=settings.layout.user,
            dated_days=settings.sleep_cycle.auto_load_dated_days,
            most_facts=settings.facts.max_knowledge_facts,
            single=settings.facts.single_valued,
            recall_budget=settings.recall.budget,
            whole_memory=settings.recall.whole_memory_chars,
            **asked,
        )

    def _built(
        self, wanted: "ContextRequest", at: datetime, why_not: str
    ) -> "ContextBlock":
        """The block; `why_not` is why nothing is recalled, empty when it may be."""
        index = self.indexing.index()
        self._authors = self._authors or live_notes.Authors(self.folder)
        dirty = self.dirty()  # type: ignore[attr-defined]
        with self.folder.held(), index.reading():
            notes = live_notes.LiveNotes(self.folder, self._authors, index.revision_of)
            block = gather.build(
                index,
                notes,
                wanted,
                None if why_not else self._recalling(index, at, wanted.session),
            )
            fresh: Freshness = self._freshness(index, dirty)  # type: ignore[attr-defined]
        cut = [
            *(blocks.Cut(*one) for one in block.cut),
            *([blocks.Cut("recalled", why_not)] if why_not else []),
        ]
        return blocks.ContextBlock(
            block.text,
            tuple(blocks.Part(*one) for one in block.parts),
            tuple(cut),
            fresh,
        )

    def _why_not_recalled(self, automatic: bool) -> str:
        if not self.config.memory_search.enabled:
            return "`[memory_search] enabled` is false"
        return (
            "`[memory_search] auto_recall` is off"
            if automatic and not self.config.memory_search.auto_recall
            else ""
        )

    def _recalling(self, index: "Index", at: datetime, session: str) -> "Ask":
        """Looks for what has to do with a prompt, with the embedder's help when it is there."""
        settings = self.config.recall
        keywords = "keyword" if settings.mode == "semantic" else settings.mode

        def ask(
            text: str, scopes: Sequence[str], limit: int, kinds: Sequence[str] = ()
        ) -> "Answer":
            ask_for = partial(
                query.search,
                index,
                text,
                scopes=scopes,
                limit=limit,
                kinds=kinds,
                now=at,
                cues=settings.dialogue_cues,
                gated=True,
                session=session,
            )
            found: Answer | None = self._with_vectors(  # type: ignore[attr-defined]
                partial(ask_for, mode=settings.mode)
            )
            return found or ask_for(mode=keywords)

        return ask


def _check(purpose: str, budget: int | None) -> None:
    if purpose not in PURPOSES:
        raise UsageError(
            f"there is no purpose `{purpose}`",
            hint=f"the purposes are {', '.join(PURPOSES)}",
        )
    if budget is not None and budget < 0:
        raise UsageError(
            f"a budget is a number of characters, not {budget}", hint="0 sets no limit"
        )
