"""What a record changed in its note, line by line and in all, as a person would say it. Pure.

Signs of Markdown, kinds, sources and ids are left out, and nothing is escaped: the text of a
hostile note is as hostile here.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal, NamedTuple

from vault_memory.markdown.item_text import marker_and_box
from vault_memory.markdown.items import parse_text
from vault_memory.markdown.merging.similarity import LIKE, best_pairs, likeness, words_in
from vault_memory.markdown.note_items import one_line, text_of
from vault_memory.markdown.visible_text import shown
from vault_memory.rules.context.rule_archive import ARCHIVED
from vault_memory.rules.edits.audit_record import Proposal, Record
from vault_memory.rules.edits.inbox_page import proposal_words
from vault_memory.rules.edits.op_effects import effects_of
from vault_memory.rules.edits.op_words import in_words
from vault_memory.rules.edits.unified_diff import Row, hunks_of, lines_of
from vault_memory.rules.facts.fact import Fact, folded, read_fact

LONGEST = 240
"""Letters of a text"""
MOST_PAIRS = 2_500
"""In a block with more pairs of old and new lines, no line is a changed one"""
FACTS = "FACTS.md"
"""How the names of notes with facts end"""

_QUOTE = re.compile(r"^(?:>[ \t]*)+(?:\[![\w-]+\][+-]?)?")
_HIDDEN = re.compile(r"%%.*?%%|<!--.*?-->|[✅❌➕]\ufe0f?\s*\d{4}-\d\d-\d\d|\s?\(ref:[^()]*\)")
"""Comments, and the days on which a task was made and done"""
_SAYS_NOTHING = re.compile(
    r"[\W_]*|(?:`{3}|~{3})\S*|(?:id|collapsed|heading|created-at|updated-at)::.*"
    r"|:[A-Z]+:|CLOCK: .*|\^[\w-]+"
)
_HEADING = re.compile(r"#{1,6}[ \t]++((?:.*[^ \t#\n])?)[ \t#]*+")
_TASK = re.compile(r"^(?:TODO|DOING|DONE)[ \t]+(?:\[#[A-Z]\][ \t]*)?(?=\S)")
_PROPERTY = re.compile(r"([^\s:][^:]{0,80})::[ \t]+(?=\S)")
_STRUCK = re.compile(r"~~(.+)~~")


class RecordSentence(NamedTuple):
    """What became of a line."""

    change: Literal["added", "changed", "removed"]
    text: str
    """what the line says; of a removed line, what it said"""
    before: str = ""
    """of a changed line: what it said before; empty where that were the same words"""


NO_LONGER = "No longer: "
FORGOTTEN = RecordSentence("changed", "What it said was forgotten")
FOLDED = RecordSentence("changed", "What it said is no longer kept")
BLANKS = RecordSentence("changed", "Only blanks and line ends")


class _DiffLine(NamedTuple):
    sign: bytes
    text: str
    """as the note has it, without its marker"""
    words: str
    key: str = ""
    """of a fact: what it has in common with another value"""
    is_frame: bool = False
    """a heading, or a line of the front matter"""


def sentences_of(record: Record) -> list[RecordSentence]:
    """Returns what became of each line that a record changed; headings only if no other line did."""
    if record.before == record.after:
        return []
    if record.folded:
        return [FOLDED]
    # What is forgotten beside a change takes its diff away.
    if record.redacted or not record.diff:
        return [FORGOTTEN]
    return _of_lines(_Note(record), record.diff) or [BLANKS]


def outcome_of(record: Record, sentences: Sequence[RecordSentence] = ()) -> str:
    """Returns what a record came to, with the words of the note: `Added “Sow peas”`.

    `sentences` are those of the record, where the caller has them.
    """
    parts = [
        _change_of(record, sentences or sentences_of(record)),
        *_proposed(record, proposal_words),
    ]
    if "rejected" in [proposal.state for proposal in record.proposed]:
        parts.append("Rejected. The note stays as it was")
    if any(applied.op.get("choice") == "keep" for applied in record.applied):
        return "Kept as it is in this note"
    return ". ".join(filter(None, parts)) or "Nothing was changed"


def news_of(record: Record) -> str:
    """Returns the same for a log, without any word of the note: `USER.md: added 2 lines`."""
    parts = _counts(sentences_of(record)) + _proposed(record, lambda _: "1 change")
    return f"{record.note.rpartition('/')[2]}: {', '.join(parts).lower() or 'nothing was changed'}"


def _proposed(record: Record, words: Callable[[Proposal], str]) -> list[str]:
    texts = [words(proposal) for proposal in record.proposed if proposal.state == "open"]
    if len(texts) > 1:
        texts = [f"{len(texts)} changes"]
    return [f"Proposed: {text}" for text in texts]


def _counts(sentences: Sequence[RecordSentence]) -> list[str]:
    counts = Counter(sentence.change for sentence in sentences)
    return [f"{change} {count} line{'s' * (count > 1)}" for change, count in sorted(counts.items())]


def _change_of(record: Record, sentences: Sequence[RecordSentence]) -> str:
    if not sentences:
        return ""
    whole = _whole_change(record)
    text = whole or _one_change(record, sentences[0])
    if len(sentences) > 1 and not whole:
        text = ", ".join(_counts(sentences)).capitalize()
    return f"Undone: {text[:1].lower()}{text[1:]}" if record.undoes else text


def _whole_change(record: Record) -> str:
    """Returns what became of a note that was renamed or thrown away."""
    for applied in record.applied:
        if applied.op.get("op") == "rename":
            return f"Renamed{in_words(applied.op).removeprefix('rename')}"
    return "" if record.after else "Thrown away"


def _one_change(record: Record, sentence: RecordSentence) -> str:
    change, text, before = sentence
    if change == "changed":
        return text if text.endswith(before) else f"Changed “{before}” to “{text}”"
    if change == "added" and record.by_bot:
        return f"Learned: {text}"
    return f"{change.capitalize()} “{text}”"


def _of_lines(note: "_Note", diff: bytes) -> list[RecordSentence]:
    frame: list[RecordSentence] = []
    sentences: list[RecordSentence] = []
    for block in note.blocks(diff):
        for sentence, is_frame in note.compare(block):
            (frame if is_frame else sentences).append(sentence)
    removed = {text for change, text, _ in sentences if change == "removed"}
    moved = removed & {text for change, text, _ in sentences if change == "added"}
    others = [sentence for sentence in sentences if sentence.text not in moved]
    only_moved = [RecordSentence("changed", f"Moved: {text}") for text in sorted(moved)]
    return others + note.archived() or only_moved or frame


class _Note:
    """A note while a record changes it."""

    def __init__(self, record: Record) -> None:
        self._effects = [effect for applied in record.applied for effect in effects_of(applied)]
        # Fault: a diff of more than the first lines of a section does not have its heading.
        self._headings = {
            text_of(line): effect.heading
            for effect in self._effects
            for line in lines_of(effect.removed) + lines_of(effect.added)
        }
        self._replaced = {
            (_first_text(effect.removed), _first_text(effect.added)) for effect in self._effects
        }
        self._has_facts = record.note.endswith(FACTS)
        names = ["", record.user_id, *record.note.split("/")]
        self._owners = set(map(folded, names))

    def archived(self) -> list[RecordSentence]:
        """Returns the items that an op moved to the archive."""
        return [
            RecordSentence("changed", f"Archived: {_cut(words_of(effect.added))}")
            for effect in self._effects
            if effect.heading == ARCHIVED
        ]

    def blocks(self, diff: bytes) -> Iterator[list[_DiffLine]]:
        """Yields the lines that were changed beside each other."""
        for hunk in hunks_of(diff):
            for is_changed, block in groupby(
                self._lines(hunk.rows), lambda line: line.sign != b" "
            ):
                if is_changed:
                    yield [line for line in block if line.words]

    def _lines(self, rows: Iterable[Row]) -> Iterator[_DiffLine]:
        heading = ""
        is_front = False
        for number, (sign, raw) in enumerate(rows):
            line = one_line(raw)
            if line == "---":
                is_front = number == 0
            name = _HEADING.fullmatch(text_of(raw))
            if name:
                heading = name[1]
                title = _HIDDEN.sub("", shown(heading))
                yield _DiffLine(sign, line, f"Section: {_cut(title)}", is_frame=True)
            elif is_front:
                yield _DiffLine(sign, line, _cut(line.strip("-")), is_frame=True)
            else:
                yield self._line(sign, raw, heading)

    def _line(self, sign: bytes, raw: bytes, heading: str) -> _DiffLine:
        text = text_of(raw)
        if self._has_facts:
            subject = self._headings.get(text) or heading
            fact = read_fact(_HIDDEN.sub("", text).strip(), subject or " -")
            if fact:
                words = fact_words(replace(fact, subject=subject), self._owners)
                return _DiffLine(sign, text, words, fact.predicate)
        return _DiffLine(sign, text, _cut(words_of(raw)))

    def compare(self, block: list[_DiffLine]) -> Iterator[tuple[RecordSentence, bool]]:
        """Yields what became of the lines of a block, and whether they are a heading or alike."""
        olds = [line for line in block if line.sign == b"-"]
        news = [line for line in block if line.sign == b"+"]
        pairs = self._pairs(olds, news)
        changed_olds = pairs.values()
        for number, old in enumerate(olds):
            if number not in changed_olds:
                yield RecordSentence("removed", old.words), old.is_frame
        for number, new in enumerate(news):
            if number not in pairs:
                yield RecordSentence("added", new.words), new.is_frame
                continue
            old = olds[pairs[number]]
            if old.words != new.words:
                yield RecordSentence("changed", new.words, old.words), new.is_frame
            elif "confirmed" in new.text and "confirmed" not in old.text:
                yield RecordSentence("changed", f"Still true: {new.words}"), False
            else:
                yield RecordSentence("changed", f"Other marks: {new.words}"), True

    def _pairs(self, olds: list[_DiffLine], news: list[_DiffLine]) -> dict[int, int]:
        """Returns the numbers of new lines, each with that of the line which it was."""
        if len(olds) * len(news) > MOST_PAIRS:
            return {}
        likes = [
            (like, old_number, new_number)
            for old_number, old in enumerate(olds)
            for new_number, new in enumerate(news)
            if (like := self._likeness(old, new)) >= LIKE
        ]
        # Without an op that says otherwise, one line in the place of another is its new form.
        is_alone = len(olds) == len(news) == 1 and not (likes or self._effects)
        if is_alone and not (olds[0].is_frame or news[0].is_frame):
            return {0: 0}
        return {new: old for old, new in best_pairs(likes)}

    def _likeness(self, old: _DiffLine, new: _DiffLine) -> float:
        like = likeness(words_in(old.words.casefold()), words_in(new.words.casefold()))
        if old.key and old.key == new.key:
            like += LIKE
        return like + ((old.text, new.text) in self._replaced)


def _first_text(raw: bytes) -> str:
    return text_of(raw.partition(b"\n")[0])


def fact_words(fact: Fact, owners: Collection[str]) -> str:
    """Returns what a fact says; the subject only where it is none of these folded names."""
    words = f"{fact.predicate.replace('_', ' ')} {shown(fact.object)}"
    if folded(fact.subject) not in owners:
        words = f"{fact.subject}: {words}"
    return NO_LONGER * fact.struck + _cut(words[:1].upper() + words[1:])


def words_of(raw: bytes) -> str:
    """Returns what a line says; empty for a line of signs."""
    line = _QUOTE.sub("", one_line(raw)).encode()
    start, box = marker_and_box(line)
    text = _HIDDEN.sub("", one_line(line[start:])).strip()
    if _SAYS_NOTHING.fullmatch(text):
        return ""
    if text.startswith("|"):
        return " · ".join(filter(None, map(str.strip, text.strip("|").split("|"))))
    item = parse_text(_TASK.sub("", text))
    words = " ".join(shown(_PROPERTY.sub(r"\1: ", item.text or item.evidence)).split())
    struck = _STRUCK.fullmatch(words)
    if struck:
        return NO_LONGER + struck[1]
    is_done = box.lower() == "x" or text.startswith("DONE ")
    return f"Done: {words}" if is_done and words else words


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…"
