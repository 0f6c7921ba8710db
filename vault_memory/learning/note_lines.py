"""Formats memories as items of the vault, each with its day and the words it comes from. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, tzinfo

from vault_memory.learning.unread_turns import day_of
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.letters import folded_line
from vault_memory.models.llm.phrase_rules import topic_of
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.attribute_values import ATTRIBUTES
from vault_memory.rules.learning.candidate import CHANNEL_SECTIONS, Extraction, Memory
from vault_memory.rules.search.tokens import clean
from vault_memory.rules.sentences.sentence_splitter import split_sentences

LEARNED = "Learned"
"""The section of a dated note that learning writes"""
LONGEST_QUOTE = 160
_QUOTES = str.maketrans(dict.fromkeys('"“”„', "'"))
_WORD = re.compile(r"\w+")


def lines_by_day(
    extraction: Extraction,
    turns: Mapping[str, Turn],
    zone: tzinfo,
    *,
    attributed: bool,
    topics_on: Callable[[date], list[str]] = lambda day: [],
) -> dict[date, list[str]]:
    """Returns an item for each memory, by the day of its turn.

    A memory of several turns gives one item for each. The first is written, and each of the
    others supports it as a duplicate. `attributed`: items begin with the name of the speaker.
    `topics_on` returns the topics of the items that the note of a day has.
    """
    topics = list(extraction.topics.values())
    topics += [memory.topic for memory in extraction.memories]
    main_topics: dict[date, str] = {}
    lines: dict[date, list[str]] = {}
    for memory in extraction.memories:
        turn = _first(memory, turns)
        # Fault: a model cites a turn that it never read. The line would have no proof.
        if turn is None:
            continue
        day = day_of(turn, zone)
        if day not in main_topics:
            main_topics[day] = dominant([*topics, *topics_on(day)])
        with_topic = replace(memory, topic=memory.topic or main_topics[day])
        for id_ in memory.evidence:
            if id_ not in turns:
                continue
            # Fault: with another speaker or day, a repetition would be a statement of its own.
            repetition = turns[id_]._replace(user=turn.user)
            line = line_of(with_topic, repetition, day, attributed=attributed)
            lines.setdefault(day, []).append(line)
    return dict(sorted(lines.items()))


def with_topics(extraction: Extraction) -> Extraction:
    """Returns the extraction with the topics that a model names, else with those of the words."""

    def topic(memory: Memory) -> str:
        of_turns = (extraction.topics.get(id_, "") for id_ in memory.evidence)
        named = memory.topic or next(filter(None, of_turns), "")
        # What a person is and likes is personal, whatever words say it.
        of_type = "personal" if memory.type in ATTRIBUTES else ""
        return named or topic_of(memory.text) or of_type

    memories = (replace(memory, topic=topic(memory)) for memory in extraction.memories)
    return replace(extraction, memories=tuple(memories))


def line_of(memory: Memory, turn: Turn, day: date, *, attributed: bool = False) -> str:
    """Formats one memory as an item."""
    if memory.section and attributed:
        return _channel_line(memory, turn, day)
    text = f"**{turn.user}**: {memory.text}" if attributed else memory.text
    if memory.type:
        text = f"[{memory.type}] {text}"
    quote = quoted(memory.text, turn.text)
    if quote:
        text += f' — "{quote}"'
    marks = [day.isoformat(), f"ref:{turn.id}"]
    if memory.topic:
        marks.append(f"topic:{memory.topic}")
    return f"{text} ({', '.join(marks)})"


def _channel_line(memory: Memory, turn: Turn, day: date) -> str:
    """Formats a decision, an agreement or an action item, with the owner and the due day."""
    text = f"**{memory.owner}**: {memory.text}" if memory.owner else memory.text
    if memory.type:
        text = f"[{memory.type}] {text}"
    marks = [day.isoformat(), f"ref:{turn.id}"]
    if memory.due:
        marks.append(f"until:{memory.due}")
    return f"{text} ({', '.join(marks)})"


def sections_of(extraction: Extraction, turns: Mapping[str, Turn], zone: tzinfo) -> dict[str, str]:
    """Returns the section of each line of a channel that has one of its own."""
    return {
        _channel_line(memory, turn, day_of(turn, zone)): memory.section
        for memory in extraction.memories
        if memory.section and (turn := _first(memory, turns)) is not None
    }


def _first(memory: Memory, turns: Mapping[str, Turn]) -> Turn | None:
    """Returns the first turn of the cycle that a memory cites."""
    return next((turns[id_] for id_ in memory.evidence if id_ in turns), None)


def by_section(lines: Iterable[str], sections: Mapping[str, str]) -> dict[str, list[str]]:
    """Groups lines by section, in the order of a channel's note; others under `LEARNED`."""
    grouped: dict[str, list[str]] = {section: [] for section in (*CHANNEL_SECTIONS, LEARNED)}
    for line in lines:
        grouped[sections.get(line, LEARNED)].append(line)
    return grouped


def quoted(text: str, source: str) -> str:
    """Returns the sentence of `source` with most words of `text`; empty when it is `text`."""
    words = _words(text)
    sentences = [" ".join(part.split()) for part in split_sentences(clean(source))]
    best = max(
        filter(None, sentences), key=lambda sentence: len(words & _words(sentence)), default=""
    )
    # Fault: a quotation mark inside the quotation would end it too early.
    best = best.translate(_QUOTES)
    # A quote that adds no word would only repeat the line.
    if _words(best) <= words:
        return ""
    if len(best) <= LONGEST_QUOTE:
        return best
    return best[: LONGEST_QUOTE - 1].rsplit(" ", 1)[0] + "…"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(folded_line(text)))


def dominant(topics: Iterable[str]) -> str:
    """Returns the most frequent topic; empty when there is none."""
    counts = Counter(filter(None, topics))
    return min(counts, key=lambda topic: (-counts[topic], topic), default="")


def ops_for(doc: SectionedDoc, heading: str, lines: Iterable[str]) -> list[dict[str, object]]:
    """Returns ops that append the lines under a heading. The first one creates it if needed."""
    ops: list[dict[str, object]] = [
        {"op": "append", "heading": heading, "line": line} for line in lines
    ]
    has_heading = any(section.name == heading for section in doc.sections)
    if ops and not has_heading:
        ops[0] = {"op": "add_heading", "heading": heading, "lines": [ops[0]["line"]]}
    return ops
