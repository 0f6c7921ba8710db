"""Says where something comes from: from a line, a fact or an id back to the turns behind it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile
from typing import Literal

from vault_memory.conversations.turn_lookup import FoundTurn, TurnLookup
from vault_memory.edits.calls import EditCalls, aware
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import NoteNotFound, UsageError, VaultError
from vault_memory.facts.calls import FactCalls
from vault_memory.learning import ledgers
from vault_memory.markdown import document, note_items
from vault_memory.markdown.items import parse_item
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.claims.equivalence import KEY_LENGTH, content_key
from vault_memory.rules.conversations.turn import read_turn, time_of_id
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.blame import added_lines, record_of_line, with_id
from vault_memory.rules.edits.skipped_duplicates import supports
from vault_memory.rules.facts.fact import read_fact
from vault_memory.rules.learning.ledger_lines import HELD
from vault_memory.rules.learning.policy import held_candidates
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.layout import Place
from vault_memory.rules.paths.scopes import check_scopes

SourceKind = Literal["turn", "item", "fact", "held", "record"]

MOST_AROUND = 50
MOST_CANDIDATES = 10
MOST_FILES = 10
"""Newest transcripts whose turns are candidates for an unknown id"""
SHORTEST = 4
"""Characters of the shortest beginning of an id that is looked for"""
_PLACE = re.compile(r"(?P<note>.+):(?P<line>[0-9]{1,7})")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_CITED = re.compile(r"\bref:([^\s,)]+)")
_KEY = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}")

BY_HAND = "a person wrote this line, and it cites no turn"
BY_BOT = "its edit cites no turn"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where something comes from."""

    ref: str
    """what was asked for"""
    kind: SourceKind
    id: str = ""
    note: str = ""
    lines: tuple[int, int] | None = None
    scope: str = ""
    text: str = ""
    record: Record | None = None
    """the audit record of the edit that wrote it"""
    turns: tuple[FoundTurn, ...] = ()
    reason: str = ""
    """why there are no turns; empty if there are"""


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a note."""

    note: str
    place: Place
    lines: tuple[int, int]
    heading: str
    text: str


class UnknownSource(UnclearId):
    """The id or place means nothing that is open here, or several things."""

    http_status = 404

    def __init__(self, ref: str, candidates: Sequence[str]) -> None:
        super().__init__(
            "source",
            ref,
            candidates,
            "name a turn, an item as `NOTE:LINE`, a fact, a held candidate or an audit record",
        )
        listed = f"; there are {', '.join(candidates)}" if candidates else ""
        self.message = f"there is no source {ref!r}{listed}"
        self.args = (self.message,)

    @property
    def code(self) -> str:
        return "unclear_id"


@checked_calls
class ProvenanceCalls:
    """Follow lines, facts and ids of one vault back to what was said. A call of it does."""

    def __init__(self, edits: EditCalls, facts: FactCalls) -> None:
        self.vault = edits.vault
        self._edits = edits
        self._facts = facts

    def __call__(
        self, ref: str, *, scopes: Sequence[str], around: int = 2, now: datetime | None = None
    ) -> Provenance:
        """Return the turns behind something, each with `around` turns before and after it.

        `ref` is `NOTE:LINE`, or the id of a turn, a fact, a held candidate, a change or an item. A
        turn that is no longer there is `gone`, with the reason. Turns around another's words need
        the scope of their transcript. Raises UnclearId with candidates, NoteNotFound, UsageError.
        """
        check_scopes(scopes)
        if not 0 <= around <= MOST_AROUND:
            raise UsageError(f"`around` is a number of turns from 0 to {MOST_AROUND}, not {around}")
        lookup = TurnLookup(
            self.vault.folder,
            self.vault.layout,
            scopes,
            keep_days=self.vault.config.retention.transcript_days,
        )
        question = _Question(self, ref.strip(), tuple(scopes), lookup)
        origin = question.answer()
        moment = aware(now)
        turns = tuple(
            lookup.find(turn.id, around, moment) if turn.turn is None else turn
            for turn in origin.turns
        )
        return replace(origin, ref=ref, turns=turns)

    def records_of(self, note: str) -> tuple[Record, ...]:
        """Return the audit records of a note, oldest first."""
        return self._edits.log(note)

    def all_records(self) -> tuple[Record, ...]:
        """Return the audit records of all notes, oldest first."""
        return self._edits.log()

    @property
    def facts(self) -> FactCalls:
        """The calls on facts."""
        return self._facts


class _Question:
    """One question about a source, within some scopes."""

    def __init__(
        self, calls: ProvenanceCalls, ref: str, scopes: tuple[str, ...], lookup: TurnLookup
    ) -> None:
        self._calls = calls
        self._vault = calls.vault
        self._ref = ref
        self._scopes = scopes
        self._lookup = lookup

    def answer(self) -> Provenance:
        """Returns the source, its turns without their texts. Raises UnclearId."""
        match = _PLACE.fullmatch(self._ref)
        if match:
            return self._of_line(inside(match["note"]), int(match["line"]))
        ways = (
            self._of_turn,
            self._of_fact,
            self._of_held,
            self._of_record,
            self._of_key,
            self._of_gone_turn,
        )
        for way in ways:
            origin = way()
            if origin is not None:
                return origin
        raise UnknownSource(self._ref, self._candidates())

    # --- Lines ---

    def _of_line(self, note: str, number: int) -> Provenance:
        place = self._vault.layout.place(note)
        # A note of another scope is refused like one that does not exist.
        if place is None or not self._is_open(place):
            raise NoteNotFound(note)
        raw = self._vault.folder.read(note).raw
        if place.kind == "transcript":
            return self._of_transcript_line(note, raw, number)
        items = list(_items_in(raw, note, place))
        for item in items:
            if item.lines[0] <= number <= item.lines[1]:
                return self._of_item(item)
        items.sort(key=lambda item: abs(item.lines[0] - number))
        nearest = [f"{note}:{item.lines[0]}" for item in items[:MOST_CANDIDATES]]
        raise UnknownSource(self._ref, nearest)

    def _of_transcript_line(self, note: str, raw: bytes, number: int) -> Provenance:
        lines = raw.split(b"\n")
        turn = read_turn(lines[number - 1]) if 0 < number <= len(lines) else None
        if turn is None:
            raise UnknownSource(self._ref, ())
        return replace(self._turn(turn.id), lines=(number, number))

    def _of_item(self, item: _Item) -> Provenance:
        records = self._calls.records_of(item.note)
        record = record_of_line(records, item.text)
        scope = item.place.scope
        fact = None
        if item.place.kind == "facts":
            fact = read_fact(item.text, item.heading, scope)
        ref = fact.ref if fact else parse_item(item.text).ref
        key = fact.id if fact else content_key(scope, item.text)
        repeated = sorted(supports(records).get(key, ()))
        turn_ids = dict.fromkeys(filter(None, (ref, *repeated)))
        return Provenance(
            ref=self._ref,
            kind="item",
            note=item.note,
            lines=item.lines,
            scope=item.place.scope,
            text=item.text,
            record=record,
            turns=tuple(map(FoundTurn, turn_ids)),
            reason="" if turn_ids else _why_no_turn(record),
        )

    def _of_key(self) -> Provenance | None:
        """The item with this content key."""
        if not _KEY.fullmatch(self._ref):
            return None
        for item in self._all_items():
            if content_key(item.place.scope, item.text) == self._ref:
                return replace(self._of_item(item), id=self._ref)
        return None

    def _all_items(self) -> Iterator[_Item]:
        for path, place in self._notes():
            try:
                raw = self._vault.folder.read(path).raw
            except VaultError:
                # A person removed the note after the listing, or it cannot be read now.
                continue
            yield from _items_in(raw, path, place)

    def _notes(self) -> Iterator[tuple[str, Place]]:
        for path in self._vault.folder.listing().entries:
            place = self._vault.layout.place(path)
            if place is None or place.kind == "transcript":
                continue
            if self._is_open(place):
                yield path, place

    def _is_open(self, place: Place) -> bool:
        return place.indexed and place.scope in self._scopes

    # --- Ids ---

    def _of_turn(self) -> Provenance | None:
        turn = self._lookup.find(self._ref, 0, aware(None)).turn
        return self._turn(turn.id) if turn is not None else None

    def _turn(self, turn_id: str) -> Provenance:
        """The turn with this id, which is open."""
        match = self._lookup.find(turn_id, 0, aware(None))
        place = self._vault.layout.place(match.transcript)
        return Provenance(
            ref=self._ref,
            kind="turn",
            id=turn_id,
            note=match.transcript,
            scope=place.scope if place else "",
            text=match.turn.text if match.turn else "",
            turns=_cited(turn_id),
        )

    def _of_gone_turn(self) -> Provenance | None:
        """The turn that a line cites, although no transcript has it any more."""
        if time_of_id(self._ref) is None:
            return None
        cites = (self._ref in _CITED.findall(item.text) for item in self._all_items())
        if not any(cites):
            return None
        return Provenance(ref=self._ref, kind="turn", id=self._ref, turns=_cited(self._ref))

    def _of_fact(self) -> Provenance | None:
        if len(self._ref) < SHORTEST:
            return None
        try:
            note, fact = self._calls.facts.find(self._ref, scopes=self._scopes)
        except UnclearId:
            return None
        for item in self._items_of(note):
            if item.text == fact.text:
                origin = self._of_item(item)
                return replace(origin, kind="fact", id=fact.id)
        return None

    def _items_of(self, note: str) -> list[_Item]:
        place = self._vault.layout.place(note)
        if place is None:
            return []
        return list(_items_in(self._vault.folder.read(note).raw, note, place))

    def _of_held(self) -> Provenance | None:
        matches = [
            (scope, candidate)
            for scope, candidate in self._held()
            if candidate.id.startswith(self._ref)
        ]
        if len(matches) != 1 or len(self._ref) < SHORTEST:
            return None
        [(scope, candidate)] = matches
        turn_ids = sorted({support.turn for support in candidate.active})
        return Provenance(
            ref=self._ref,
            kind="held",
            id=candidate.id,
            scope=scope,
            text=candidate.text,
            turns=tuple(map(FoundTurn, turn_ids)),
            reason="" if turn_ids else "the person took back what they said",
        )

    def _held(self) -> Iterator[tuple[str, held_candidates.HeldCandidate]]:
        paths = list(self._vault.folder.listing().entries)
        vault_ledgers = ledgers.of_vault(self._vault)
        for scope in self._scopes:
            places = scope_notes.places_of(scope, paths, self._vault.layout)
            records = vault_ledgers.records(places, HELD)
            for candidate in held_candidates.merged(records).values():
                yield scope, candidate

    def _of_record(self) -> Provenance | None:
        if len(self._ref) < SHORTEST:
            return None
        matches = [
            record
            for record in with_id(self._calls.all_records(), self._ref)
            if self._may_read(record.note)
        ]
        if len(matches) != 1:
            return None
        [record] = matches
        lines = list(added_lines(record))
        refs = [ref for line in lines for ref in _CITED.findall(line)]
        place = self._vault.layout.place(record.note)
        return Provenance(
            ref=self._ref,
            kind="record",
            id=record.id,
            note=record.note,
            scope=place.scope if place else "",
            text="\n".join(lines),
            record=record,
            turns=tuple(map(FoundTurn, dict.fromkeys(refs))),
            reason="" if refs else BY_BOT,
        )

    def _may_read(self, note: str) -> bool:
        place = self._vault.layout.place(note)
        return place is not None and self._is_open(place)

    # --- Candidates ---

    def _candidates(self) -> list[str]:
        """Returns the ids that are most like the unknown one."""
        ids = dict.fromkeys(self._known_ids())
        alike = sorted(ids, key=lambda id_: -_common_length(id_, self._ref))
        return alike[:MOST_CANDIDATES]

    def _known_ids(self) -> Iterable[str]:
        for fact in self._calls.facts(scopes=self._scopes):
            yield fact.id
        for _, candidate in self._held():
            yield candidate.id
        yield from islice(self._lookup.recent_ids(MOST_FILES), 1_000)


def _items_in(raw: bytes, note: str, place: Place) -> Iterator[_Item]:
    """Yields the items of a note with the numbers of their lines."""
    doc = document.parse(raw)
    offset = len(doc.preamble)
    offsets: list[int] = []
    for section in doc.sections:
        offset += len(section.heading)
        offsets.append(offset)
        offset += len(section.body)
    # Fault: lines that are counted again for each item take minutes in a note with
    # thousands of items.
    line_ends = [line.end() for line in _LINE.finditer(raw)]
    for item in note_items.items_of(doc):
        start = offsets[item.section] + item.start
        first = bisect_right(line_ends, start) + 1
        own_bytes = raw[start : offsets[item.section] + item.own_end].rstrip()
        last = first + len(_LINE.findall(own_bytes)) - 1
        yield _Item(note, place, (first, max(first, last)), item.heading, item.text)


def _common_length(text: str, other: str) -> int:
    """Returns how many characters two texts have in common at their beginning."""
    pairs = zip(text, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cited(ref: str) -> tuple[FoundTurn, ...]:
    """Returns the turn that a line cites, not looked up yet."""
    return (FoundTurn(ref),) if ref else ()


def _why_no_turn(record: Record | None) -> str:
    if record is not None and record.by_bot:
        return BY_BOT
    return BY_HAND
