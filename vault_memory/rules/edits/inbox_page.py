"""INBOX.md: proposals as a checklist that a person ticks in any editor.

    - [ ] remove from USER.md › Preferences: "Likes morning briefings at 7am"
          why: contradicted on 2026-04-27 (ref:1402) · id 7c1e90ab12

A proposal is identified by its id, or by its first line exactly as the program wrote it. Nothing
else in the page is read, and an approved op is taken from the audit. All other bytes of the page
are the person's and stay.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from vault_memory.markdown.note_items import line_end
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.op_words import as_question
from vault_memory.rules.edits.ops import as_json, op_of

LIFETIME = timedelta(days=30)
TITLE = (
    "# Waiting for you",
    "",
    "Tick a box to approve. Write `[-]` in it, or delete the line, to say no.",
    "",
)

_BOX = re.compile(
    rb"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX-])\][ \t]++((?:.*[^ \t])?)[ \t]*+\Z"
)
_ANY_ITEM = re.compile(rb"[ \t]*+(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_ID = re.compile(rb"(?:\A|[ \t])id ([0-9a-f]{10})[ \t]*\Z")
_WHY = re.compile(rb"[ \t]+why: ")
_FENCE = re.compile(rb"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(rb"[ \t]{0,3}#{1,6}(?:[ \t]|\Z)")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_ACTIVE = re.compile(r"(?<=!)\[|<(?=[a-zA-Z!/?])")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_WHY = 300
_STRUCK = b"~~"
_DELETED = "deleted"
"""The mark of an entry of which only the second line is left"""

_State = Literal["approved", "rejected", "undecided"]


@dataclass(frozen=True, slots=True)
class Decisions:
    """A person's decisions about the proposals of the page, by id."""

    approved: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A checklist item of the page; lines are counted from 0."""

    first: int
    end: int
    mark: str
    action: bytes
    id: str

    @property
    def is_struck(self) -> bool:
        """Whether the entry has no words, or they are struck through."""
        return self.action[:2] in (b"", _STRUCK)

    @property
    def valid_mark(self) -> str:
        """The mark in lower case; empty where the entry is struck through"""
        return "" if self.is_struck else self.mark.lower()


# --- Writing ----------------------------------------------------------------------------------


def proposal_words(proposal: Proposal) -> str:
    """Returns what a person is asked, as it is written."""
    note = proposal.note.rpartition("/")[2]
    op = op_of(dict(proposal.op))
    return as_question(as_json(op), note) if op else f"look at {note}"


def describe(proposal: Proposal) -> str:
    """Returns a proposal in words, on one line."""
    return _one_line(proposal_words(proposal))


def lines_for(proposal: Proposal) -> tuple[str, str]:
    """Returns the two lines of a proposal in INBOX.md."""
    why = proposal.why
    if proposal.suspicious and "instruction" not in why:
        why = f"looks like an instruction to the bot; {why}"
    why = _one_line(why)[:_LONGEST_WHY] or "proposed"
    return f"- [ ] {describe(proposal)}", f"      why: {why} · id {proposal.id}"


def add_to_inbox(raw: bytes, proposals: Iterable[Proposal]) -> bytes:
    """Returns the page with these proposals at its end, except those that it has already."""
    existing_ids = {entry.id for entry in _entries(raw)}
    new = {proposal.id: proposal for proposal in proposals}
    lines: list[bytes] = []
    for proposal in new.values():
        if proposal.id not in existing_ids:
            lines += map(_encode, lines_for(proposal))
    if not lines:
        return raw
    eol = line_end(raw)
    if not raw.strip():
        title = [line.encode() for line in TITLE]
        return raw + eol.join([*title, *lines]) + eol
    gap = b"" if raw.endswith((b"\n", b"\r")) else eol
    if raw.splitlines()[-1].strip() and not _ends_in_entry(raw):
        gap += eol
    return raw + gap + eol.join(lines) + eol


def strike_in_inbox(raw: bytes, reasons: Mapping[str, str]) -> bytes:
    """Returns the page with entries struck through, each with the reason for its id."""
    lines = _LINE.findall(raw)
    for entry in _entries(raw):
        reason = reasons.get(entry.id)
        if reason is None or entry.is_struck:
            continue
        lines[entry.first] = _struck(lines[entry.first], entry.action)
        if entry.end > entry.first + 1:
            last = lines[entry.end - 1]
            indent = last[: len(last) - len(last.lstrip())]
            eol = last[len(last.rstrip(b"\r\n")) :]
            text = f"{_one_line(reason)[:_LONGEST_WHY]} · id {entry.id}"
            lines[entry.end - 1] = indent + _encode(text) + eol
    return b"".join(lines)


def _struck(line: bytes, action: bytes) -> bytes:
    start = line.rindex(action)
    return line[:start] + _STRUCK + action + _STRUCK + line[start + len(action) :]


def drop_from_inbox(raw: bytes, ids: Iterable[str]) -> bytes:
    """Returns the page without these proposals; the audit has the decisions."""
    dropped_ids = set(ids)
    lines = _LINE.findall(raw)
    for entry in _entries(raw):
        if entry.id in dropped_ids:
            lines[entry.first : entry.end] = [b""] * (entry.end - entry.first)
    return b"".join(lines)


def expired(proposal: Proposal, now: datetime) -> bool:
    """Returns whether a proposal has waited for more than `LIFETIME`; `now` has a zone."""
    try:
        proposed_at = datetime.fromisoformat(proposal.ts)
    except ValueError:
        return False
    if proposed_at.tzinfo is None:
        proposed_at = proposed_at.replace(tzinfo=UTC)
    return now - proposed_at > LIFETIME


# --- Reading decisions ------------------------------------------------------------------------


def read_inbox(raw: bytes | None, proposals: Iterable[Proposal]) -> Decisions:
    """Returns the decisions of the page about the open proposals that were put there."""
    proposals = tuple(proposals)
    # Fault (A3): a missing or empty page may be half saved, or not yet synced. Taken
    # for decisions, it would reject all proposals.
    if raw is None or not raw.strip(b" \t\r\n\0" + _BYTE_ORDER_MARK):
        return Decisions(undecided=tuple(proposal.id for proposal in proposals))
    entries = list(_entries(raw))
    descriptions = [_encode(describe(proposal)) for proposal in proposals]
    states: dict[str, _State] = {}
    for proposal, description in zip(proposals, descriptions, strict=True):
        own_entries = _entries_of(proposal, description, entries, descriptions)
        states[proposal.id] = _state(own_entries, proposal, raw)
    return Decisions(
        approved=_ids_in_state(states, "approved"),
        rejected=_ids_in_state(states, "rejected"),
        undecided=_ids_in_state(states, "undecided"),
    )


def _ids_in_state(states: Mapping[str, _State], state: _State) -> tuple[str, ...]:
    return tuple(id for id, value in states.items() if value == state)


def _entries_of(
    proposal: Proposal, description: bytes, entries: list[_Entry], descriptions: list[bytes]
) -> list[_Entry]:
    """Returns the entries of a proposal: by its id, or by its words where the id is gone."""
    # Fault: words of another proposal above this id mean that the person mixed two
    # entries up. A tick there approves neither.
    rival_descriptions = set(descriptions) - {description}
    by_id = [
        entry
        for entry in entries
        if entry.id == proposal.id and entry.action not in rival_descriptions
    ]
    # Fault: with two proposals of the same words, a tick without an id would approve
    # the wrong one.
    if by_id or descriptions.count(description) > 1:
        return by_id
    return [entry for entry in entries if not entry.id and entry.action == description]


def _state(entries: list[_Entry], proposal: Proposal, raw: bytes) -> _State:
    """Returns a person's decision; without a clear one the proposal stays undecided."""
    proposal_id = proposal.id.encode()
    has_words = _encode(describe(proposal)) in raw
    if not entries:
        return "undecided" if has_words or proposal_id in raw else "rejected"
    marks = {entry.valid_mark for entry in entries}
    if marks == {"x"}:
        return "approved"
    if marks == {"-"}:
        return "rejected"
    # The person deleted the first line of the entry and left the second.
    leftovers = sum(entry.mark == _DELETED for entry in entries)
    if not has_words and leftovers == raw.count(proposal_id):
        return "rejected"
    return "undecided"


# --- Entries of the page ----------------------------------------------------------------------


def _entries(raw: bytes) -> Iterator[_Entry]:
    """Yields the checklist items of the page; text in a fence or a comment has none."""
    page = raw.removeprefix(_BYTE_ORDER_MARK)
    lines = [line.rstrip(b"\r\n") for line in _LINE.findall(page)]
    hidden = _HiddenText()
    index = 0
    while index < len(lines):
        is_hidden = hidden.covers(lines[index])
        box = None if is_hidden else _BOX.match(lines[index])
        end = index + 1
        if box:
            end = _end_of_item(lines, index)
            entry_id = _id_in(lines[index:end])
            yield _Entry(index, end, box[1].decode(), box[2], entry_id)
        elif not is_hidden and _is_second_line_alone(lines, index):
            yield _Entry(index, end, _DELETED, b"", _id_in(lines[index:end]))
        index = end


class _HiddenText:
    """Follows fences and comments from line to line."""

    def __init__(self) -> None:
        self._fence = b""
        self._in_comment = False

    def covers(self, line: bytes) -> bool:
        """Returns whether a line is in a fence or a comment."""
        fence = None if self._in_comment else _FENCE.match(line)
        if fence and not self._fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence):
            self._fence = b""
        if self._fence:
            self._in_comment = False
            return True
        opens = self._in_comment or line.lstrip().startswith(b"<!--")
        self._in_comment = opens and b"-->" not in line
        return self._in_comment


def _is_second_line_alone(lines: list[bytes], index: int) -> bool:
    """Returns whether this is the second line of an entry whose first line was deleted."""
    if not _WHY.match(lines[index]) or not _ID.search(lines[index]):
        return False
    previous = lines[index - 1] if index else b""
    return not previous.strip() or _ID.search(previous) is not None


def _id_in(lines: list[bytes]) -> str:
    """Returns the id at the end of an entry; ``""`` when other lines of it have an id, too."""
    matches = [_ID.search(line) for line in lines[1:] or lines]
    ids = [match[1].decode() for match in matches if match]
    return ids[0] if len(ids) == 1 and matches[-1] else ""


def _end_of_item(lines: list[bytes], first: int) -> int:
    """Returns the index after the last line of the item that begins in line `first`."""
    index = first + 1
    while index < len(lines) and _continues_item(lines, first, index):
        index += 1
    return index


def _continues_item(lines: list[bytes], first: int, index: int) -> bool:
    line = lines[index]
    if not line.strip():
        return False
    if any(pattern.match(line) for pattern in (_ANY_ITEM, _HEADING, _FENCE)):
        return False
    return index == first + 1 or not _is_second_line_alone(lines, index)


def _ends_in_entry(raw: bytes) -> bool:
    lines = _LINE.findall(raw)
    last = max((entry.end for entry in _entries(raw)), default=0)
    return last > 0 and not b"".join(lines[last:]).strip()


def _one_line(text: str) -> str:
    """Returns text that a Markdown program shows literally, on one line.

    Nothing in it is hidden, loads an image, or changes the direction of the text after it.
    """
    # Fault (H123): a proposal may come from a text on the web. Hidden letters would let
    # a person approve other words than they read.
    visible = _HIDDEN.sub("\ufffd", " ".join(text.split()))
    return _ACTIVE.sub(r"\\\g<0>", visible)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
