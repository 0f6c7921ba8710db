"""What a model says it learned, made safe to use: the shape it is asked for, and a reading that never fails.

Nothing of an answer is believed beyond its words: whose memory it becomes is not the answer's to say, and what it was
learned from must be a turn of the person's own.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import folded
from vault_memory.rules.learning.answer_schema import KEYS, TOPICS, TYPES
from vault_memory.rules.learning.candidate import Doubt, Extraction, FoundFact, Memory
from vault_memory.rules.learning.lenient_json import (
    Block,
    blocks,
    json_in,
    sections_in,
    without_thoughts,
)
from vault_memory.rules.search.tokens import clean, shortened

NOTHING_NEW = "NO_NEW_MEMORIES"
"""What a model answers that found nothing to remember"""
MOST = 100
"""Memories, facts, ops and proposals that are taken from one answer, each"""
LONGEST = 600
"""Characters of one memory"""
LONGEST_NAME = 200
"""Characters of a subject or predicate; an object may have as many as a memory"""
NO_ROW = "it is no object with the keys that were asked for"
LIKE_NO_WORD = 8
"""Characters from which on an id in a line is no word that happens to be one"""
ROWS = ("memories", "facts", "ops")
"""Keys whose values are lists of objects"""
PLACES = frozenset(
    {"note", "path", "file", "user", "user_id", "channel", "scope", "vault"}
)
"""Keys by which an answer would choose where something is written"""


def read_answer(
    text: str, turn_ids: Iterable[str], *, others: Collection[str] = (), rung: str = ""
) -> Extraction:
    """What the answer says, in whatever form; never raises.

    `turn_ids`: the person's own turns. `others`: turns that exist and are not their own words; what was learned from
    those alone is only proposed.
    """
    reading = _Reading(tuple(turn_ids), frozenset(others))
    plain = without_thoughts(text)
    found = json_in(plain, KEYS)
    if found is not None:
        reading.take_json(found.value)
    elif sections := sections_in(plain):
        reading.take_sections(sections)
    else:
        reading.take_loose(plain)
    return reading.done(nothing_new=_says_nothing(plain), rung=rung)


def problem(text: str, turn_ids: Sequence[str], *, last: bool = False) -> str:
    """Why an answer is not usable as it is, for a model to read; nothing when it is.

    Entries that are no objects are passed over beside others that are. `last`: the model is not asked again, so
    whatever can be used of the answer is.
    """
    plain = without_thoughts(text)
    found = json_in(plain, KEYS)
    if found is None:
        if (
            sections_in(plain)
            or _says_nothing(plain)
            or read_answer(plain, turn_ids).memories
        ):
            return ""
        return (
            "the answer holds no JSON object with the keys memories, facts, topics, ops"
        )
    wrong = [
        f"`{key}` must be {'an object' if key == 'topics' else 'a list of objects'}"
        for key in KEYS
        if key in found.value and not _well_shaped(key, found.value[key])
    ]
    if wrong and not (last and _has_rows(found.value)):
        return "; ".join(wrong)
    rows = [row for key in ("memories", "facts") for row in _rows(found.value.get(key))]
    extraction = read_answer(plain, turn_ids)
    if rows and not (extraction.memories or extraction.facts or extraction.ops):
        return "; ".join(
            dict.fromkeys(
                doubt.reason for doubt in (*extraction.dropped, *extraction.proposals)
            )
        )
    return ""


def stands_alone(text: str) -> bool:
    """Whether the answer is the JSON object that was asked for, and no more."""
    found = json_in(text, KEYS)
    return found is not None and found.whole


def merged(parts: Iterable[tuple[str, Iterable[str]]]) -> str:
    """One answer from those to the parts of a question, each with the turns that its part was about."""
    whole: dict[str, Any] = {"memories": [], "facts": [], "topics": {}, "ops": []}
    for text, turn_ids in parts:
        found = json_in(without_thoughts(text), KEYS)
        said = read_answer(text, turn_ids).as_json() if found is None else found.value
        for key in ROWS:
            whole[key] += _entries(said.get(key))
        if isinstance(said.get("topics"), Mapping):
            whole["topics"].update(said["topics"])
    return json.dumps(whole, ensure_ascii=False)


def _well_shaped(key: str, value: object) -> bool:
    if value is None:
        return True
    if key == "topics":
        return isinstance(value, Mapping | list)
    return isinstance(value, list) and (not value or any(_rows(value)))


def _has_rows(answer: Mapping[str, Any]) -> bool:
    """Whether anything in it has the form of a memory, a fact or an op."""
    return any(row for key in ROWS for row in _rows(answer.get(key)))


def _says_nothing(text: str) -> bool:
    return any(
        line.strip(" \t\r*`-_.").upper() == NOTHING_NEW for line in text.splitlines()
    )


class _Reading:
    """What was found so far in one answer."""

    def __init__(self, own: tuple[str, ...], others: frozenset[str]) -> None:
        self.own, self.others = frozenset(own), others
        self.memories: list[Memory] = []
        self.facts: list[FoundFact] = []
        self.topics: dict[str, str] = {}
        self.ops: list[Mapping[str, Any]] = []
        self.proposals: list[Doubt] = []
        self.dropped: list[Doubt] = []

    def done(self, *, nothing_new: bool, rung: str) -> Extraction:
        memories = () if nothing_new else _merged(self.memories)
        return Extraction(
            memories[:MOST],
            tuple(dict.fromkeys(self.facts))[:MOST],
            self.topics,
            tuple(self.ops[:MOST]),
            () if nothing_new else tuple(dict.fromkeys(self.proposals))[:MOST],
            tuple(dict.fromkeys(self.dropped)),
            nothing_new,
            rung,
        )

    def take_json(self, value: Mapping[str, Any]) -> None:
        readers = {
            "memories": self.memory_row,
            "facts": self.fact_row,
            "ops": self.op_row,
        }
        for key, read in readers.items():
            for row in _entries(value.get(key)):
                if isinstance(row, Mapping):
                    read(row)
                elif (
                    row is not None
                ):  # one stray string must not cost the rows beside it
                    self.drop(_one_line(str(row)), f"{NO_ROW}, in `{key}`")
        self.topic_rows(value.get("topics"))

    def take_sections(self, sections: Mapping[str, str]) -> None:
        """The form MEMORIES / FACTS / TOPICS; a section may hold JSON or lines."""
        for name, body in sections.items():
            found = json_in(body, (), lists=True)
            if found is not None:
                self.take_json({name: found.value})
            elif name == "memories":
                for block in blocks(body):
                    self.memory_block(block)
            else:
                for block in blocks(body):
                    self.other_line(name, block.text)

    def take_loose(self, text: str) -> None:
        """No marks at all: points that cite a turn are memories, other text is only proposed."""
        if text.lstrip()[:1] in ("{", "["):
            self.drop(text, "the JSON of the answer is broken, or has another shape")
            return
        for block in blocks(text):
            self.memory_block(block)

    def memory_block(self, block: Block) -> None:
        cited = self.cited(block.text)
        fields = parse_item(block.text)
        said = _one_line(_citations(fields.text, (*cited, fields.ref)))
        if not said or said.upper() == NOTHING_NEW:
            return
        if not block.point or not cited:
            reason = (
                "it cites no turn of the person's own"
                if block.point
                else "it stands outside of the asked form"
            )
            self.doubt(said, reason)
            return
        self.add_memory(said, fields.type, fields.topic, cited)

    def other_line(self, section: str, line: str) -> None:
        if section == "topics":
            key, _, topic = line.partition(":")
            self.topic_rows({key.strip(" []`"): topic})
            return
        cited = self.cited(line)
        bare = _citations(parse_item(line).text, cited)
        triple = _TRIPLE.match(bare)
        parts = [
            part.strip()
            for part in (
                bare.split("|") if "|" in bare else triple.groups() if triple else ()
            )
        ]
        if section == "facts" and len(parts) >= 3:
            names = ("subject", "predicate", "object", "from", "until")
            self.fact_row(
                {**dict(zip(names, parts, strict=False)), "evidence": list(cited)}
            )
        elif bare.strip() and not _EMPTY.fullmatch(bare):
            self.drop(line, f"this line of {section.upper()} cannot be read")

    def memory_row(self, row: Mapping[str, Any]) -> None:
        said = _text(row, "text", "memory", "content")
        if not said:
            self.drop("", "a memory without text")
        elif place := PLACES & set(row):
            self.drop(said, f"it names a place of its own (`{min(place)}`)")
        elif evidence := self.evidence(said, row.get("evidence")):
            self.add_memory(said, _text(row, "type"), _text(row, "topic"), evidence)

    def fact_row(self, row: Mapping[str, Any]) -> None:
        subject, predicate, value = (
            _text(row, name) for name in ("subject", "predicate", "object")
        )
        said = f"{subject} {predicate} {value}".strip()
        predicate = "_".join(_WORD.findall(predicate.casefold()))
        if not (subject and predicate and value):
            self.drop(said, "a fact without subject, predicate or object")
        elif max(len(subject), len(predicate)) > LONGEST_NAME:
            self.drop(
                said,
                f"its subject or predicate is longer than {LONGEST_NAME} characters",
            )
        elif place := PLACES & set(row):
            self.drop(said, f"it names a place of its own (`{min(place)}`)")
        elif len(value) > LONGEST:
            self.doubt(said, f"its object is longer than {LONGEST} characters")
        elif evidence := self.evidence(said, row.get("evidence")):
            since, until = (
                _day(row, "from", "valid_from"),
                _day(row, "until", "valid_until"),
            )
            self.facts.append(
                FoundFact(subject, predicate, value, since, until, evidence)
            )

    def op_row(self, row: Mapping[str, Any]) -> None:
        said = _text(row, "line") or _text(row, "match") or _text(row, "heading")
        if place := PLACES & set(row):
            self.drop(said, f"it names a place of its own (`{min(place)}`)")
        else:
            self.ops.append(row)

    def topic_rows(self, value: object) -> None:
        if isinstance(value, list):
            value = {_text(row, "turn", "id"): row.get("topic") for row in _rows(value)}
        for turn, topic in value.items() if isinstance(value, Mapping) else ():
            word = folded(topic) if isinstance(topic, str) else ""
            if (
                word in TOPICS
                and _bare(turn) in self.own
                and len(self.topics) < 10 * MOST
            ):
                self.topics[_bare(turn)] = word

    def evidence(self, said: str, value: object) -> tuple[str, ...]:
        """The own turns among those cited; when there are none, the text is put aside and says why."""
        cited = [
            _bare(one)
            for one in (value if isinstance(value, list) else [value])
            if isinstance(one, str | int)
        ]
        own = tuple(dict.fromkeys(one for one in cited if one in self.own))
        if own:
            return own
        if not [one for one in cited if one]:
            self.doubt(said, "it cites no turn of the person's own")
        elif all(one in self.others for one in cited):
            self.doubt(said, "it was learned from what somebody else said")
        else:
            self.drop(said, "it cites turns that are not among the person's own")
        return ()

    def cited(self, line: str) -> tuple[str, ...]:
        """The own turns that a line names: in brackets or after ``ref:``; an id that cannot be a word, anywhere."""
        marked = {
            word for inner in _BRACKETS.findall(line) for word in _ID.findall(inner)
        } | set(_REF.findall(line))
        words = [word.removeprefix("ref:") for word in _ID.findall(line)]
        return tuple(
            dict.fromkeys(
                word
                for word in words
                if word in self.own and (word in marked or len(word) >= LIKE_NO_WORD)
            )
        )

    def add_memory(
        self, said: str, kind: str, topic: str, evidence: tuple[str, ...]
    ) -> None:
        if len(said) > LONGEST:
            self.doubt(said, f"it is longer than {LONGEST} characters")
            return
        kind, topic = folded(kind), folded(topic)
        self.memories.append(
            Memory(
                said,
                kind if kind in TYPES else "",
                topic if topic in TOPICS else "",
                tuple(evidence),
            )
        )

    def doubt(self, said: str, reason: str) -> None:
        self.proposals.append(Doubt(shortened(said, LONGEST), reason))

    def drop(self, said: str, reason: str) -> None:
        self.dropped.append(Doubt(shortened(said, LONGEST), reason))


_TRIPLE = re.compile(r"(.+?)\s+([a-z]+(?:_[a-z]+)+|[a-z]+(?=:)):?\s+(.+)", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")
_ID = re.compile(r"[\w][\w.:/-]*[\w]|\w")
_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_REF = re.compile(r"\bref:\s*([\w][\w./-]*)")
_EMPTY = re.compile(r"(?i)\W*(?:none|n/a|nothing)?\W*")
_LEADING = re.compile(r"^(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+")


def _merged(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Each text once, with all turns it was learned from."""
    found: dict[str, Memory] = {}
    for one in memories:
        key = folded(one.text)
        before = found.get(key, replace(one, evidence=()))
        found[key] = replace(
            before, evidence=tuple(dict.fromkeys((*before.evidence, *one.evidence)))
        )
    return tuple(found.values())


def _rows(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (
        row
        for row in (value if isinstance(value, list) else ())
        if isinstance(row, Mapping)
    )


def _entries(value: object) -> list[object]:
    """What stands in a list; a text, a number or an object that stands in its place is one entry of it."""
    if value is None or isinstance(value, list):
        return value or []
    return [value]


def _text(row: Mapping[str, Any], *names: str) -> str:
    """The first of these that is a text, in one line and without a marker."""
    value = next((row[name] for name in names if isinstance(row.get(name), str)), "")
    return _one_line(value)


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in clean(text)).split())
    return _LEADING.sub("", line).strip()


def _day(row: Mapping[str, Any], *names: str) -> str:
    said = _text(row, *names)
    return said if parse_item(f"x ({said})").date else ""


def _bare(turn: object) -> str:
    """An id as it was meant: ``[t1]``, ``ref:t1`` and 1 for ``"1"``."""
    return (
        str(turn).strip(" \t\n[]()`\"'").removeprefix("ref:").strip()
        if not isinstance(turn, bool)
        else ""
    )


def _citations(text: str, ids: Iterable[str]) -> str:
    """The text without the ids that stand in it as citations."""
    for one in ids:
        if one:
            text = re.sub(
                rf"\s*[\[(](?:ref:\s*)?{re.escape(one)}[\])]|\s*\bref:\s*{re.escape(one)}(?!\w)",
                " ",
                text,
            )
    return text.strip(" ,;")
