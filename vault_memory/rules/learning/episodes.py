"""Decides what the episode of a conversation says: its summary in a few sentences. Pure.

Without a model the episode quotes the person: the first request, two decisions, and the last
question. The item of an episode names the newest turn that it covers, so that a continued
conversation is noticed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import ItemFields, parse_item, parse_text
from vault_memory.markdown.note_items import items_of, short_hash
from vault_memory.rules.conversations.request_words import asks_nothing
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove, Replace
from vault_memory.rules.learning.grounding import says_as_much
from vault_memory.rules.learning.policy_cues import PolicyCues
from vault_memory.rules.learning.write_policy import DROP, REPETITION, Candidate, decide
from vault_memory.rules.search.tokens import clean, is_question, is_run, shortened, words
from vault_memory.rules.sentences.sentence_splitter import without_end

TYPE = "episode"
"""The type of the items, and the kind of their notes"""
DECIDED = "decided"
"""The list of phrases of decisions"""
LONGEST = 600
"""Characters of an episode"""
LONGEST_SENTENCE = 140
LONGEST_NAME = 40
"""Characters of a conversation's name in a heading"""
LEAST_TURNS = 3
LEAST_CHARACTERS = 200
RUN_WEIGHT = 2.5
"""A Chinese character counts as so many letters"""
MOST_DECISIONS = 2
MOST_SENTENCES = 400
"""Sentences, the latest first, that are searched for decisions and questions"""
MOST_DAYS = 3
"""Days that one episode covers: a conversation that never ends gets one episode after the other"""
GAP = "; "
OPEN = "open: "
"""Before the last question"""

_NOT_IN_A_NAME = re.compile(r"[^\w .:@+/-]+")
_END = " \t.;。；"
_MARKER = re.compile(r"^(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+")


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn in the person's own words."""

    id: str
    day: date
    """the local day"""
    text: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EpisodeRules:
    """What the sentences of an episode are judged by."""

    cues: PolicyCues
    is_plan: Callable[[str], bool] = lambda sentence: False
    """whether a sentence without a phrase of decision names a plan or an event"""

    is_personal: Callable[[str], bool] = lambda sentence: False
    """whether a sentence tells an attribute of the speaker, which no channel keeps"""

    def is_left_out(self, sentence: str) -> bool:
        """Returns whether a sentence must not be in an episode."""
        if self.is_personal(sentence):
            return True
        candidate = Candidate("memory", sentence, turns=(sentence,))
        decision = decide(candidate, self.cues)
        if decision.policy_class in (DROP, REPETITION):
            return True
        return decision.reason == "sensitive"

    def is_off_the_record(self, turn: "SpokenTurn") -> bool:
        """Returns whether a sentence of a turn says that none of it is to be remembered."""
        return any(
            self.cues.stands_alone(sentence, "memory_control") for sentence in turn.sentences
        )

    def is_decision(self, sentence: str) -> bool:
        """Returns whether a sentence says what was decided."""
        return DECIDED in self.cues.reasons(sentence)


@dataclass(frozen=True, slots=True)
class ExistingEpisode:
    """The items of a note about one conversation."""

    note: str
    day: date
    """the day of the note"""
    heading: str
    texts: tuple[str, ...]
    """of the items, with their metadata"""

    @property
    def fields(self) -> list[ItemFields]:
        """The items without their metadata, and the metadata."""
        return [parse_text(text) for text in self.texts]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts without metadata."""
        return tuple(fields.text for fields in self.fields)

    def turns_after(self, turns: Sequence[SpokenTurn]) -> list[SpokenTurn]:
        """Returns the turns that the episode does not cover."""
        refs = {fields.ref for fields in self.fields}
        covered = [number for number, turn in enumerate(turns) if turn.id in refs]
        return list(turns[covered[-1] + 1 :]) if covered else list(turns)


def session_key(session: str, user: str, channel: str) -> str:
    """Returns the digits by which the items of a conversation name it."""
    return short_hash(session, user, channel)


def heading_of(session: str, began: datetime) -> str:
    """Returns the heading of an episode, such as `18:40 tea`."""
    name = " ".join(_NOT_IN_A_NAME.sub(" ", clean(session)).split())
    return f"{began:%H:%M} {name[:LONGEST_NAME]}".strip()


def is_substantive(turns: Sequence[SpokenTurn]) -> bool:
    """Returns whether a conversation is worth an episode."""
    if len(turns) < LEAST_TURNS:
        return False
    size = 0.0
    for turn in turns:
        size += _weight(turn.text)
        if size >= LEAST_CHARACTERS:
            return True
    return False


def _weight(text: str) -> float:
    """Returns the number of characters; one of a script without spaces counts as several."""
    if text.isascii():
        return len(text)
    return sum(RUN_WEIGHT if is_run(char) else 1 for char in text)


def parts_of(turns: Iterable[SpokenTurn], begun: Iterable[date]) -> dict[date, list[SpokenTurn]]:
    """Divides the turns of a conversation into those of each episode, by its first day.

    `begun` are the first days of the episodes that exist.
    """
    first_days = sorted(begun)
    parts: dict[date, list[SpokenTurn]] = {}
    for turn in turns:
        current = [day for day in first_days if _is_within(turn.day, day)]
        if not current:
            first_days.append(turn.day)
            first_days.sort()
            current = [turn.day]
        parts.setdefault(current[-1], []).append(turn)
    return parts


def _is_within(day: date, first: date) -> bool:
    return first <= day < first + timedelta(days=MOST_DAYS)


def verbatim(turns: Sequence[SpokenTurn], rules: EpisodeRules) -> tuple[str, ...]:
    """Returns the first request, two decisions and the last question, in the person's words."""
    sentences = _sentences_of(turns, rules)

    def best(
        candidates: Iterable[str], most: int, wanted: Callable[[str], bool] = lambda sentence: True
    ) -> list[str]:
        allowed = (
            sentence
            for sentence in candidates
            if wanted(sentence) and not rules.is_left_out(sentence)
        )
        return list(islice(allowed, most))

    request = best(sentences, 1)
    latest_first = [sentence for sentence in sentences[::-1] if sentence not in request]
    latest_first = latest_first[:MOST_SENTENCES]
    questions = best(latest_first, 1, is_question)
    statements = [sentence for sentence in latest_first if not is_question(sentence)]
    chosen = best(statements, MOST_DECISIONS, rules.is_decision)
    if len(chosen) < MOST_DECISIONS:
        others = [sentence for sentence in statements if sentence not in chosen]
        chosen += best(others, MOST_DECISIONS - len(chosen), rules.is_plan)
    decisions = [sentence for sentence in statements[::-1] if sentence in chosen]
    sentences = [*request, *decisions, *(OPEN + question for question in questions)]
    return tuple(map(_as_sentence, sentences))


def _sentences_of(turns: Iterable[SpokenTurn], rules: EpisodeRules) -> list[str]:
    """Returns the different sentences that say something, in their order."""
    sentences = dict.fromkeys(
        sentence
        for turn in turns
        if not rules.is_off_the_record(turn)
        for sentence in dict.fromkeys(turn.sentences)
    )
    return [sentence for sentence in sentences if _says_something(sentence)]


def _says_something(sentence: str) -> bool:
    spoken = words(sentence)
    return len(spoken) > 1 and not asks_nothing(spoken)


def _as_sentence(sentence: str) -> str:
    line = " ".join(clean(sentence).split())
    return without_end(shortened(_MARKER.sub("", line), LONGEST_SENTENCE), _END)


def lines_in(text: str) -> list[str]:
    """Returns the lines of a summary without their marks of lists and headings."""
    lines = (_MARKER.sub("", line.strip()).strip() for line in text.splitlines())
    return [" ".join(clean(line).split()) for line in lines if words(line)]


def continued(old: Sequence[str], new: Iterable[str]) -> tuple[str, ...]:
    """Returns the sentences of an episode that goes on. What it says already is not repeated.

    The question of the old sentences is no longer the last one.
    """
    text = GAP.join(old)
    added = [sentence for sentence in new if not says_as_much(text, sentence)]
    if any(sentence.startswith(OPEN) for sentence in added):
        old = [sentence for sentence in text.split(GAP) if not sentence.startswith(OPEN)]
        text = GAP.join(old)
    room = LONGEST - len(GAP.join(["", *added]))
    return (shortened(text, max(room, 0)), *added) if room > 0 else tuple(added)


def fitting(sentences: Iterable[str]) -> list[str]:
    """Returns the first sentences that an episode has room for; the last one may be shortened."""
    result: list[str] = []
    room = LONGEST
    for sentence in sentences:
        if room < len(GAP) + 1:
            break
        text = shortened(sentence, room)
        result.append(text)
        room -= len(text) + len(GAP)
    return result


def sentences_of(item: str) -> list[str]:
    """Returns the sentences in the text of an episode."""
    sentences = parse_text(item).text.split(GAP)
    return [sentence.removeprefix(OPEN) for sentence in sentences]


def item_line(text: str, turn: SpokenTurn, key: str) -> str:
    """Returns an item of an episode; `turn` is the newest one that it covers."""
    return f"[{TYPE}] {text} ({turn.day}, ref:{turn.id}, session:{key})"


def find_episode(note: str, day: date, doc: SectionedDoc, key: str) -> ExistingEpisode | None:
    """Returns the episode of a conversation in a note; None when it has none."""
    items = [item for item in items_of(doc) if parse_item(item.text).session == key]
    if not items:
        return None
    heading = items[0].heading
    texts = tuple(item.text for item in items if item.heading == heading)
    return ExistingEpisode(note, day, heading, texts)


def newest_episode(doc: SectionedDoc) -> tuple[str, str]:
    """Returns the heading and the lines of the newest episode; empty when there is none."""
    by_heading: dict[str, list[ItemFields]] = {}
    for item in items_of(doc):
        fields = parse_item(item.text)
        if fields.type == TYPE:
            by_heading.setdefault(item.heading, []).append(fields)
    if not by_heading:
        return "", ""

    def order(heading: str) -> tuple[date, str]:
        days = [fields.date or date.min for fields in by_heading[heading]]
        return max(days), heading

    heading = max(by_heading, key=order)
    lines = [f"- {fields.text}" for fields in by_heading[heading]]
    return heading, "\n".join(lines)


def ops_for(
    doc: SectionedDoc, heading: str, lines: Sequence[str], existing: ExistingEpisode | None
) -> list[Op]:
    """Returns the ops that write the lines of an episode in place of the existing ones."""
    if existing is None:
        if any(section.name == heading for section in doc.sections):
            return [Append(heading, line) for line in lines]
        return [AddHeading(heading, tuple(lines))]
    heading, texts = existing.heading, existing.texts
    ops: list[Op] = [
        Replace(heading, text, line, exact=True)
        for text, line in zip(texts, lines, strict=False)
        if text != line
    ]
    ops += [Append(heading, line) for line in lines[len(texts) :]]
    ops += [Remove(heading, text, exact=True) for text in texts[len(lines) :]]
    return ops


def by_turn(
    rows: Iterable[tuple[str, Sequence[str]]], turns: Mapping[str, SpokenTurn], rules: EpisodeRules
) -> list[str]:
    """Returns the sentences of a model about these turns; each row has a text and cited turns."""
    texts = []
    for text, cited in rows:
        sources = [turns[turn_id] for turn_id in cited if turn_id in turns]
        if not sources or rules.is_left_out(text) or rules.is_off_the_record(sources[0]):
            continue
        texts.append(_as_sentence(text))
    return list(dict.fromkeys(texts))
