"""What a night writes: items of the vault's format, each with the words it was learned from, and the day. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, tzinfo

from vault_memory.learning.unread_turns import day_of
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.note_items import folded
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import Extraction, Memory
from vault_memory.rules.search.tokens import clean

LEARNED = "Learned"
"""The section of a dated note that is the night's"""
LONGEST_QUOTE = 160
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_QUOTES = str.maketrans(dict.fromkeys('"“”„', "'"))
_WORD = re.compile(r"\w+")


def lines_by_day(
    extraction: Extraction, turns: Mapping[str, Turn], zone: tzinfo, *, attributed: bool
) -> dict[date, list[str]]:
    """An item for each memory, by the day on which it was said; `attributed`: with the name of who said it."""
    topic = dominant(extraction)
    found: dict[date, list[str]] = {}
    for memory in extraction.memories:
        said = next((turns[one] for one in memory.evidence if one in turns), None)
        if said is not None:
            day = day_of(said, zone)
            known = memory.topic or extraction.topics.get(said.id, "") or topic
            line = line_of(
                replace(memory, topic=known), said, day, attributed=attributed
            )
            found.setdefault(day, []).append(line)
    return dict(sorted(found.items()))


def line_of(memory: Memory, said: Turn, day: date, *, attributed: bool = False) -> str:
    """One memory as an item."""
    text = f"**{said.user}**: {memory.text}" if attributed else memory.text
    quote = quoted(memory.text, said.text)
    marks = [
        day.isoformat(),
        f"ref:{said.id}",
        f"topic:{memory.topic}" if memory.topic else "",
    ]
    kind = f"[{memory.type}] " if memory.type else ""
    evidence = f' — "{quote}"' if quote else ""
    return f"{kind}{text}{evidence} ({', '.join(filter(None, marks))})"


def quoted(text: str, said: str) -> str:
    """The sentence of what was said that has most words of the text; empty when it is the text itself."""
    wanted = set(_WORD.findall(folded(text)))
    sentences = [
        one
        for part in _SENTENCE.findall(clean(said))
        if (one := " ".join(part.split()))
    ]
    best = max(
        sentences,
        key=lambda one: len(wanted & set(_WORD.findall(folded(one)))),
        default="",
    )
    best = best.translate(_QUOTES)
    if folded(best).strip(".! ") == folded(text.translate(_QUOTES)).strip(".! "):
        return ""
    return (
        best
        if len(best) <= LONGEST_QUOTE
        else best[: LONGEST_QUOTE - 1].rsplit(" ", 1)[0] + "…"
    )


def dominant(extraction: Extraction) -> str:
    """The topic that most of what was said is about; empty when there is none."""
    counts = Counter(
        [
            *extraction.topics.values(),
            *(one.topic for one in extraction.memories if one.topic),
        ]
    )
    return min(counts, key=lambda topic: (-counts[topic], topic)) if counts else ""


def ops_for(
    doc: SectionedDoc, heading: str, lines: Iterable[str]
) -> list[dict[str, object]]:
    """Ops that put the lines under a heading, which is made with the first of them when it is not there."""
    ops: list[dict[str, object]] = [
        {"op": "append", "heading": heading, "line": line} for line in lines
    ]
    if ops and all(section.name != heading for section in doc.sections):
        ops[0] = {"op": "add_heading", "heading": heading, "lines": [ops[0]["line"]]}
    return ops
