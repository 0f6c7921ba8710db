"""Quotes the MEMORY.md notes of a prompt within their common budget."""

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING

from vault_memory.context.blocks import Ask, ContextRequest
from vault_memory.context.live_notes import LiveLines, LiveNotes
from vault_memory.rules.context import assemble
from vault_memory.rules.context.assemble import Quotation, RecalledLine
from vault_memory.search.notes import references

if TYPE_CHECKING:
    from vault_memory.search.results import Hit

MOST_HITS = 240
"""Hits that one question may ask for"""
HEADING_STEP = " › "


class MemoryNotes:
    """The MEMORY.md notes of one block. `omitted` says what was left out, and why."""

    def __init__(
        self, notes: LiveNotes, request: ContextRequest, ask: Ask | None, query: str
    ) -> None:
        """With `ask` None nothing is looked up."""
        self._notes = notes
        self._request = request
        self._ask = ask
        self._query = query
        self.omitted: list[tuple[str, str]] = []

    def quotations(self, paths: Sequence[str]) -> list[Quotation]:
        """Quotes the MEMORY.md notes: complete if they fit into their common budget, else excerpts.

        An excerpt has the lines that answer the prompt; without a prompt, the beginning.
        """
        texts = {path: self._notes.marked_text(path) for path in paths}
        size = sum(map(len, texts.values()))
        budget = self._request.memory_budget
        if not self._request.only_excerpts and not 0 < budget < size:
            quotations = [assemble.whole_note("memory", path, text) for path, text in texts.items()]
            return [quotation for quotation in quotations if quotation]
        if self._ask is None:
            return self._memory_beginnings(texts)
        return self._answering_lines(self._ask, texts)

    def _memory_beginnings(self, texts: Mapping[str, str]) -> list[Quotation]:
        """Quotes complete items from the top, note by note, until the budget is used up."""
        room = self._request.memory_budget
        quotations: list[Quotation] = []
        for path, text in texts.items():
            quotation = assemble.whole_note("memory", path, text)
            if quotation is None:
                continue
            total = len(text.splitlines())
            longest = f"{total:,} of {total:,} {assemble.FROM_THE_TOP}"
            tags = quotation._replace(about={"excerpt": longest}).text(())
            # Fault: one long note must not use up the room of all others below zero.
            kept = assemble.beginning(quotation, max(0, room - len(tags)))
            room -= len(kept.text(kept.groups))
            if len(kept.groups) < len(quotation.groups):
                kept = _with_line_count(kept, text, assemble.FROM_THE_TOP)
                self._omit_memory(path, text, "its beginning is given")
            quotations.append(kept)
        return quotations

    def _answering_lines(self, ask: Ask, texts: Mapping[str, str]) -> list[Quotation]:
        request = self._request
        lines: list[RecalledLine] = []
        for hit in ask(self._query, request.open, MOST_HITS, ("memory",)).hits:
            if len(lines) == request.most_lines:
                break
            # Fault: the hit is in a note that may not go in here.
            if hit.note not in texts:
                continue
            current = self._notes.current_lines(hit)
            # Fault: the note lost this line after the index read it.
            if current is not None:
                lines.append(recalled_line(hit, current, request))
        # The remark counts the lines in the end; until then it is as long as it may get.
        longest = max((len(text.splitlines()) for text in texts.values()), default=0)
        remark = f"{longest:,} of {longest:,} {assemble.ANSWERING}"
        quotations, _ = assemble.recalled(
            lines, request.memory_budget, kind="memory", excerpt=remark
        )
        quoted_notes = {quotation.note for quotation in quotations}
        for path, text in texts.items():
            outcome = "no line of it answers the prompt"
            if path in quoted_notes:
                outcome = "the lines that answer the prompt are given"
            if text.strip():
                self._omit_memory(path, text, outcome)
        return [
            _with_line_count(quotation, texts[quotation.note], assemble.ANSWERING)
            for quotation in quotations
        ]

    def _omit_memory(self, path: str, text: str, outcome: str) -> None:
        """Reports that a MEMORY.md is not complete in the block."""
        budget = self._request.memory_budget
        why = f"`[recall] memory_budget` is {budget:,}"
        if self._request.only_excerpts:
            why = f"the block has room for {self._request.budget:,}"
        reason = f"`{path}` has {len(text):,} characters, and {why}: {outcome}"
        self.omitted.append(("memory", reason))


def _with_line_count(quotation: Quotation, text: str, remark: str) -> Quotation:
    """Returns an excerpt with the number of its lines in its tag."""
    count = sum(len(group.text.split("\n")) for group in quotation.groups)
    total = len(text.splitlines())
    return quotation._replace(about={"excerpt": f"{count:,} of {total:,} {remark}"})


def recalled_line(hit: "Hit", current: LiveLines, request: ContextRequest) -> RecalledLine:
    """Returns the lines of a hit as they are now, with their place and author."""
    text = current.text
    if hit.references:
        # Fault: a reference must not bring in what the block leaves out for others.
        open_to_all = (
            reference
            for reference in hit.references
            if not any(starmap(request.is_personal, reference.sources))
        )
        text = references.shown(text, open_to_all)
    # The heading of a turn is the id of its session, which says nothing to a model.
    heading = HEADING_STEP.join(hit.heading) if hit.kind != "transcript" else ""
    return RecalledLine(
        note=hit.note,
        first=current.first,
        last=current.last,
        date=hit.date or "",
        origin=current.origin,
        heading=heading,
        text=text,
        score=hit.score,
        copies=hit.copies,
    )
