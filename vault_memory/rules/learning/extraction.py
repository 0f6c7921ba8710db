"""Reads what a model says it learned, in any form, without ever failing.

Only the words of an answer are trusted. The program decides in whose memory they go, and each
memory must cite a turn of the person's own.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.markdown.letters import folded_line
from vault_memory.rules.learning.answer_schema import CHANNEL_KEYS, KEYS, TOPICS, TYPES
from vault_memory.rules.learning.candidate import (
    ACTIONS,
    AGREEMENTS,
    DECISIONS,
    PLAN,
    Doubt,
    Extraction,
    FoundFact,
    Memory,
    unique_memories,
)
from vault_memory.rules.learning.lenient_json import (
    Row,
    bare_id,
    blocks,
    columns,
    entries_of,
    json_in,
    one_line,
    rows_in,
    sections_in,
    text_field,
    without_citations,
    without_thoughts,
)
from vault_memory.rules.learning.write_policy import Labels
from vault_memory.rules.search.tokens import shortened

NOTHING_NEW = "NO_NEW_MEMORIES"
"""The answer of a model that has nothing to remember"""
MOST = 100
"""Memories, facts, ops and proposals that are read from an answer, each"""
TOO_MANY = f"the answer has more than {MOST}"
SAYS_NOTHING = "the answer says that there is nothing new"
LONGEST = 600
"""Characters of one memory"""
LONGEST_DAY = 40
"""Characters of a date, or of words for a day"""
LONGEST_NAME = 200
"""Characters of a subject or predicate; an object may be as long as a memory"""
NO_ROW = "it is no object with the keys that were asked for"
NO_CITATION = "it cites no turn of the person's own"
OTHERS_WORDS = "it was learned from what somebody else said"
WRONG_CITATION = "it cites turns that are not among the person's own"
LIKE_NO_WORD = 8
"""Characters from which on an id in a line cannot be a common word"""
ROWS = ("memories", "episodes", "facts", "ops", *CHANNEL_KEYS, "entities")
"""Keys whose values are lists of objects"""
PLACES = frozenset({"note", "path", "file", "user", "user_id", "channel", "scope", "vault"})
"""Keys with which an answer tries to choose where a memory is written"""

_WORD = re.compile(r"[^\W_]+")
_ID = re.compile(r"[\w][\w.:/-]*[\w]|\w")
_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_REF = re.compile(r"\bref:\s*([\w][\w./-]*)")
_EMPTY = re.compile(r"(?i)\W*(?:none|n/a|nothing)?\W*")
_SCOPE = re.compile(r"^[^\s]+[:/\\]")
"""A place, such as ``user:bob``; an unknown label names no place"""
_FACT_FIELDS = ("subject", "predicate", "object", "from", "until")


def read_answer(
    text: str, turn_ids: Iterable[str], *, other_turns: Collection[str] = (), rung: str = ""
) -> Extraction:
    """Reads an answer in any form. Never raises.

    `turn_ids` are the person's own turns. `other_turns` are turns in other people's words: a
    memory that cites only those is proposed to the person.
    """
    reader = _AnswerReader(turn_ids, other_turns)
    plain = without_thoughts(text)
    match = json_in(plain, KEYS)
    sections = sections_in(plain)
    if match is not None:
        reader.read_json(match.value)
    elif sections:
        reader.read_sections(sections)
    else:
        reader.read_loose_text(plain)
    return reader.extraction(nothing_new=_says_nothing(plain), rung=rung)


def problem(text: str, turn_ids: Sequence[str], *, last: bool = False) -> str:
    """Returns why an answer is unusable, in words for the model, or ``""``.

    Entries that are no objects do no harm beside others that are. With `last` the model is not
    asked again, so a partly usable answer counts as usable.
    """
    plain = without_thoughts(text)
    match = json_in(plain, KEYS)
    if match is None:
        return _problem_without_json(plain, turn_ids)
    answer: Row = match.value
    shapes = _shape_problems(answer)
    if shapes and not (last and _has_rows(answer)):
        return "; ".join(shapes)
    rows = [*rows_in(answer.get("memories")), *rows_in(answer.get("facts"))]
    extraction = read_answer(plain, turn_ids)
    if not rows or extraction.nothing_new:
        return ""
    if extraction.memories or extraction.facts or extraction.ops:
        return ""
    # Another own turn may say it; otherwise it waits for a person's approval.
    if last and extraction.uncited:
        return ""
    doubts = (*extraction.dropped, *extraction.proposals)
    return "; ".join(dict.fromkeys(doubt.reason for doubt in doubts))


def _problem_without_json(plain: str, turn_ids: Sequence[str]) -> str:
    is_usable = sections_in(plain) or _says_nothing(plain) or read_answer(plain, turn_ids).memories
    if is_usable:
        return ""
    return "the answer holds no JSON object with the keys memories, facts, topics, ops"


def _shape_problems(answer: Row) -> list[str]:
    problems = []
    for key in KEYS:
        if key in answer and not _is_well_shaped(key, answer[key]):
            shape = "an object" if key == "topics" else "a list of objects"
            problems.append(f"`{key}` must be {shape}")
    return problems


def cited_turns(text: str, turn_ids: Sequence[str]) -> list[str]:
    """Returns the turns that an answer cites, in the order of the question."""
    extraction = read_answer(text, turn_ids)
    candidates: tuple[Memory | FoundFact, ...] = (*extraction.memories, *extraction.facts)
    cited = {turn_id for candidate in candidates for turn_id in candidate.evidence}
    return [turn_id for turn_id in turn_ids if turn_id in cited]


def stands_alone(text: str) -> bool:
    """Returns whether the answer is the requested JSON object, and nothing else."""
    match = json_in(text, KEYS)
    return match is not None and match.is_complete


def merged(answers: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Merges the answers to a divided question; each comes with the turns of its division."""
    total: dict[str, Any] = {"topics": {}, **{key: [] for key in ROWS}}
    for text, turn_ids in answers:
        match = json_in(without_thoughts(text), KEYS)
        if match is None:
            answer = read_answer(text, turn_ids).as_json()
        else:
            answer = match.value
        for key in ROWS:
            total[key] += entries_of(answer.get(key))
        topics = answer.get("topics")
        if isinstance(topics, Mapping):
            total["topics"].update(topics)
    return json.dumps(total, ensure_ascii=False)


def _is_well_shaped(key: str, value: object) -> bool:
    if value is None:
        return True
    if key == "topics":
        return isinstance(value, Mapping | list)
    return isinstance(value, list) and (not value or any(rows_in(value)))


def _has_rows(answer: Row) -> bool:
    """Returns whether an entry has the form of a memory, a fact or an op."""
    return any(row for key in ROWS for row in rows_in(answer.get(key)))


def _says_nothing(text: str) -> bool:
    lines = (line.strip(" \t\r*`-_.").upper() for line in text.splitlines())
    return NOTHING_NEW in lines


class _AnswerReader:
    """Collects the contents of one answer."""

    def __init__(self, turn_ids: Iterable[str], other_turns: Iterable[str]) -> None:
        self.own_turns = frozenset(turn_ids)
        self.other_turns = frozenset(other_turns)
        self.memories: list[Memory] = []
        self.facts: list[FoundFact] = []
        self.episodes: list[Memory] = []
        self.topics: dict[str, str] = {}
        self.ops: list[Row] = []
        self.uncited: list[Memory | FoundFact] = []
        self.proposals: list[Doubt] = []
        self.dropped: list[Doubt] = []

    def extraction(self, *, nothing_new: bool, rung: str) -> Extraction:
        """Returns what was read, without repetitions and within the limits."""
        memories = unique_memories(self.memories)
        uncited = tuple(dict.fromkeys(self.uncited))
        proposals = tuple(dict.fromkeys(self.proposals))
        # Fault: what is left out here would appear nowhere. Each text is named as dropped.
        if nothing_new:
            self._drop_all((*memories, *uncited), SAYS_NOTHING)
            self.dropped += proposals
            memories, uncited, proposals = (), (), ()
        facts = tuple(dict.fromkeys(self.facts))
        surplus = (*memories[MOST:], *facts[MOST:], *uncited[MOST:])
        self._drop_all(surplus, TOO_MANY)
        self.dropped += proposals[MOST:]
        uncited = uncited[:MOST]
        doubts = [*proposals[:MOST], *(doubt_of(candidate) for candidate in uncited)]
        return Extraction(
            memories=memories[:MOST],
            facts=facts[:MOST],
            episodes=unique_memories(self.episodes)[:MOST],
            topics=self.topics,
            ops=tuple(self.ops[:MOST]),
            proposals=tuple(dict.fromkeys(doubts)),
            dropped=tuple(dict.fromkeys(self.dropped)),
            uncited=uncited,
            nothing_new=nothing_new,
            rung=rung,
        )

    # --- Forms of an answer ----------------------------------------------------------------

    def read_json(self, value: Row) -> None:
        """Reads the requested form."""
        readers: dict[str, Callable[[Row], None]] = {
            "decisions": partial(self._read_memory, section=DECISIONS),
            "agreements": partial(self._read_memory, section=AGREEMENTS),
            "actions": partial(self._read_memory, section=ACTIONS),
            "memories": self._read_memory,
            "episodes": self._read_episode,
            "facts": self._read_fact,
            "ops": self._read_op,
        }
        for key, read in readers.items():
            for row in entries_of(value.get(key)):
                if isinstance(row, Mapping):
                    read(row)
                elif row is not None:
                    # A stray string must not cost the rows beside it.
                    self._drop(one_line(str(row)), f"{NO_ROW}, in `{key}`")
        self._read_topics(value.get("topics"))

    def read_sections(self, sections: Mapping[str, str]) -> None:
        """Reads the form MEMORIES / FACTS / TOPICS; a section may hold JSON or lines."""
        for name, body in sections.items():
            match = json_in(body, (), lists=True)
            if match is not None:
                self.read_json({name: match.value})
                continue
            for block, is_point in blocks(body):
                if name == "memories":
                    self._read_memory_block(block, is_point=is_point)
                else:
                    self._read_line(name, block)

    def read_loose_text(self, text: str) -> None:
        """Reads text without any form: points with a citation are memories, others proposals."""
        if text.lstrip()[:1] in ("{", "["):
            self._drop(text, "the JSON of the answer is broken, or has another shape")
            return
        for block, is_point in blocks(text):
            self._read_memory_block(block, is_point=is_point)

    # --- Entries ---------------------------------------------------------------------------

    def _read_memory_block(self, block: str, *, is_point: bool) -> None:
        cited = self._cited_turns(block)
        fields = parse_text(block)
        text = one_line(without_citations(fields.text, (*cited, fields.ref)))
        if not text or text.upper() == NOTHING_NEW:
            return
        if not is_point:
            self._doubt(text, "it stands outside of the asked form")
        elif not cited:
            self._doubt(text, NO_CITATION)
        else:
            self._add_memory(self._memory(text, fields.type, fields.topic, cited))

    def _read_line(self, section: str, line: str) -> None:
        if section == "topics":
            turn, _, topic = line.partition(":")
            self._read_topics({turn.strip(" []`"): topic})
            return
        cited = self._cited_turns(line)
        bare = without_citations(parse_item(line).text, cited)
        cells = columns(bare)
        if section == "facts" and len(cells) >= 3:
            row: dict[str, Any] = dict(zip(_FACT_FIELDS, cells, strict=False))
            self._read_fact(row | {"evidence": list(cited)})
        elif bare.strip() and not _EMPTY.fullmatch(bare):
            # Fault: a model adds remarks between the lines of a section.
            self._drop(line, f"this line of {section.upper()} cannot be read")

    def _read_memory(self, row: Row, section: str = "") -> None:
        text = text_field(row, "text", "memory", "content")
        if not text:
            self._drop("", "a memory without text")
            return
        # Fault: a model tries to choose in whose memory it writes.
        if self._names_a_place(row, text):
            return
        kind, topic = text_field(row, "type"), text_field(row, "topic")
        evidence, doubt = self._citation(row)
        owner = due = ""
        if section == ACTIONS:
            kind = PLAN
            owner, due = text_field(row, "owner"), _day(row, "due")
        memory = self._memory(text, kind, topic, evidence, doubt)
        memory = replace(memory, labels=_labels(row), section=section)
        self._add_memory(replace(memory, owner=owner, due=due))

    def _read_episode(self, row: Row) -> None:
        text = text_field(row, "text")
        evidence, doubt = self._citation(row)
        # What was summed up without a citation adds nothing to the turns.
        if text and evidence and not doubt and not self._names_a_place(row, text):
            self.episodes.append(Memory(text=shortened(text, LONGEST), evidence=evidence))

    def _read_fact(self, row: Row) -> None:
        subject = text_field(row, "subject")
        predicate = text_field(row, "predicate")
        value = text_field(row, "object")
        statement = f"{subject} {predicate} {value}".strip()
        predicate = "_".join(_WORD.findall(predicate.casefold()))
        if not (subject and predicate and value):
            self._drop(statement, "a fact without subject, predicate or object")
            return
        if max(len(subject), len(predicate)) > LONGEST_NAME:
            reason = f"its subject or predicate is longer than {LONGEST_NAME} characters"
            self._drop(statement, reason)
            return
        if self._names_a_place(row, statement):
            return
        if len(value) > LONGEST:
            self._doubt(statement, f"its object is longer than {LONGEST} characters")
            return
        evidence, doubt = self._citation(row)
        since = _day(row, "from", "valid_from")
        until = _day(row, "until", "valid_until")
        fact = FoundFact(subject, predicate, value, since, until, evidence, doubt, _labels(row))
        if doubt:
            self.uncited.append(fact)
        else:
            self.facts.append(fact)

    def _read_op(self, row: Row) -> None:
        text = text_field(row, "line") or text_field(row, "match") or text_field(row, "heading")
        if not self._names_a_place(row, text):
            self.ops.append(row)

    def _read_topics(self, value: object) -> None:
        if isinstance(value, list):
            value = {text_field(row, "turn", "id"): row.get("topic") for row in rows_in(value)}
        if not isinstance(value, Mapping):
            return
        for turn, topic in value.items():
            word = folded_line(topic) if isinstance(topic, str) else ""
            turn_id = bare_id(turn)
            has_room = len(self.topics) < 10 * MOST
            if has_room and word in TOPICS and turn_id in self.own_turns:
                self.topics[turn_id] = word

    # --- Checks ----------------------------------------------------------------------------

    def _names_a_place(self, row: Row, text: str) -> bool:
        """Drops a row that says where it should be written; an answer must not choose that."""
        places = PLACES & set(row)
        # A label says for how long something holds, under the same key.
        if not _SCOPE.search(str(row.get("scope"))):
            places -= {"scope"}
        if not places:
            return False
        self._drop(text, f"it names a place of its own (`{min(places)}`)")
        return True

    def _citation(self, row: Row) -> tuple[tuple[str, ...], str]:
        """Returns the own turns that a row cites; without any, the reason."""
        values = [*entries_of(row.get("turn")), *entries_of(row.get("evidence"))]
        cited = [bare_id(turn) for turn in values if isinstance(turn, str | int)]
        own = tuple(dict.fromkeys(turn for turn in cited if turn in self.own_turns))
        if own:
            return own, ""
        if not any(cited):
            return (), NO_CITATION
        # Fault: the words of another person must not become a memory without the owner's consent.
        if self.other_turns.issuperset(cited):
            return (), OTHERS_WORDS
        return (), WRONG_CITATION

    def _cited_turns(self, line: str) -> tuple[str, ...]:
        """Returns the own turns that a line cites: in brackets or after ``ref:``.

        A long id counts anywhere, because no common word looks like it.
        """
        marked = set(_REF.findall(line))
        for inner in _BRACKETS.findall(line):
            marked.update(_ID.findall(inner))
        words = (word.removeprefix("ref:") for word in _ID.findall(line))
        own = (word for word in words if word in self.own_turns)
        cited = (word for word in own if word in marked or len(word) >= LIKE_NO_WORD)
        return tuple(dict.fromkeys(cited))

    def _memory(
        self, text: str, kind: str, topic: str, evidence: tuple[str, ...], doubt: str = ""
    ) -> Memory:
        kind = folded_line(kind)
        topic = folded_line(topic)
        return Memory(
            text=text,
            type=kind if kind in TYPES else "",
            topic=topic if topic in TOPICS else "",
            evidence=evidence,
            doubt=doubt,
        )

    def _add_memory(self, memory: Memory) -> None:
        if len(memory.text) > LONGEST:
            self._doubt(memory.text, f"it is longer than {LONGEST} characters")
        elif memory.doubt:
            self.uncited.append(memory)
        else:
            self.memories.append(memory)

    def _doubt(self, text: str, reason: str) -> None:
        self.proposals.append(Doubt(shortened(text, LONGEST), reason))

    def _drop_all(self, candidates: Iterable[Memory | FoundFact], reason: str) -> None:
        for candidate in candidates:
            self._drop(candidate.statement, reason)

    def _drop(self, text: str, reason: str) -> None:
        self.dropped.append(Doubt(shortened(text, LONGEST), reason))


def doubt_of(candidate: Memory | FoundFact) -> Doubt:
    """Returns the proposal for a candidate without a usable citation."""
    return Doubt(shortened(candidate.statement, LONGEST), candidate.doubt)


def _labels(row: Row) -> Labels:
    return Labels.read(row.get("care"), row.get("scope"), row.get("basis"))


def _day(row: Row, *names: str) -> str:
    """Returns a date, or words such as "tomorrow", which the day of the turn resolves."""
    text = text_field(row, *names)
    return text if len(text) <= LONGEST_DAY else ""
