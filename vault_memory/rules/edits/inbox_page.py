"""INBOX.md: proposals as a checklist that a person ticks in any editor.

    - [ ] remove from USER.md › Preferences: "Likes morning briefings at 7am"
          why: contradicted on 2026-04-27 (ref:1402) · id 7c1e90ab12

A proposal is known by its id, or by its first line just as we wrote it; nothing else in the page is read, and what is
done is what the audit says was proposed. All other bytes of the page are the person's and stay.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from vault_memory.markdown.note_items import line_end
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.ops import AddHeading, Append, Remove, Replace
from vault_memory.rules.edits.ownership import op_of

LIFETIME = timedelta(days=30)
TITLE = (
    "# Waiting for you",
    "",
    "Tick a box to approve. Write `[-]` in it, or delete the line, to say no.",
    "",
)

_BOX = re.compile(
    rb"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX-])\][ \t]+(.*?)[ \t]*\Z"
)
_ANY_ITEM = re.compile(rb"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_ID = re.compile(rb"(?:\A|[ \t])id ([0-9a-f]{10})[ \t]*\Z")
_WHY = re.compile(rb"[ \t]+why: ")
_FENCE = re.compile(rb"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(rb"[ \t]{0,3}#{1,6}(?:[ \t]|\Z)")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_ACTIVE = re.compile(r"(?<=!)\[|<(?=[a-zA-Z!/?])")
_LONGEST_WHY = 300
_DELETED = "deleted"
"""In the place of a mark: only the second line of an entry is left"""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a person decided about the proposals that were shown to them, by id."""

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


def describe(proposal: Proposal) -> str:
    """A proposal in words, on one line."""
    note = proposal.note.rpartition("/")[2]
    match op_of(dict(proposal.op)):
        case Append(heading, line):
            said = f'add to {note} › {heading}: "{line}"'
        case AddHeading(heading, lines):
            said = f"add a section to {note}: {heading}, with " + ", ".join(
                f'"{line}"' for line in lines
            )
        case Remove(heading, match_):
            said = f'remove from {note} › {heading}: "{match_}"'
        case Replace(heading, match_, line):
            said = f'change in {note} › {heading}: "{match_}" to "{line}"'
        case _:
            said = f"look at {note}"
    return _one_line(said)


def lines_for(proposal: Proposal) -> tuple[str, str]:
    """The two lines of a proposal in INBOX.md."""
    remark = (
        ""
        if not proposal.suspicious or "instruction" in proposal.why
        else "looks like an instruction to the bot; "
    )
    why = _one_line(remark + proposal.why)[:_LONGEST_WHY] or "proposed"
    return f"- [ ] {describe(proposal)}", f"      why: {why} · id {proposal.id}"


def add_to_inbox(raw: bytes, proposals: Iterable[Proposal]) -> bytes:
    """The page with these proposals at its end; those that stand there already are not added again."""
    there = {entry.id for entry in _entries(raw)}
    fresh = {
        proposal.id: proposal for proposal in proposals if proposal.id not in there
    }
    if not fresh:
        return raw
    eol = line_end(raw)
    rows = [_bytes(line) for proposal in fresh.values() for line in lines_for(proposal)]
    if not raw.strip():
        return raw + eol.join([line.encode() for line in TITLE] + rows) + eol
    gap = b"" if raw.endswith((b"\n", b"\r")) else eol
    if raw.splitlines()[-1].strip() and not _ends_in_entry(raw):
        gap += eol
    return raw + gap + eol.join(rows) + eol


def read_inbox(raw: bytes | None, shown: Iterable[Proposal]) -> Decisions:
    """What the page says of the proposals that were put there and are open.

    Nothing is decided by a page that is missing or empty: it may be half saved.
    """
    shown = tuple(shown)
    if raw is None or not raw.strip(b" \t\r\n\0\xef\xbb\xbf"):
        return Decisions(undecided=tuple(proposal.id for proposal in shown))
    entries, states = list(_entries(raw)), {}
    described = [_bytes(describe(proposal)) for proposal in shown]
    for proposal, words in zip(shown, described, strict=True):
        others = {other for other in described if other != words}
        mine = [
            entry
            for entry in entries
            if entry.id == proposal.id and entry.action not in others
        ]
        if not mine and described.count(words) == 1:
            mine = [
                entry for entry in entries if not entry.id and entry.action == words
            ]
        states[proposal.id] = _state(mine, proposal, raw)
    return Decisions(
        *(
            tuple(id for id, state in states.items() if state == name)
            for name in _STATES
        )
    )


_STATES = ("approved", "rejected", "undecided")


def strike_in_inbox(raw: bytes, reasons: Mapping[str, str]) -> bytes:
    """The page with proposals struck through, each with why it is not to be decided any more, by id."""
    lines = _LINE.findall(raw)
    for entry in _entries(raw):
        reason = reasons.get(entry.id)
        if reason is None or not entry.action or entry.action.startswith(b"~~"):
            continue
        head, last = lines[entry.first], lines[entry.end - 1]
        at = head.rindex(entry.action)
        lines[entry.first] = (
            head[:at] + b"~~" + entry.action + b"~~" + head[at + len(entry.action) :]
        )
        if entry.end > entry.first + 1:
            indent, end = (
                last[: len(last) - len(last.lstrip())],
                last[len(last.rstrip(b"\r\n")) :],
            )
            said = f"{_one_line(reason)[:_LONGEST_WHY]} · id {entry.id}"
            lines[entry.end - 1] = indent + _bytes(said) + end
    return b"".join(lines)


def drop_from_inbox(raw: bytes, ids: Iterable[str]) -> bytes:
    """The page without the proposals of these ids: what was decided is in the audit."""
    gone, lines = set(ids), _LINE.findall(raw)
    for entry in _entries(raw):
        if entry.id in gone:
            lines[entry.first : entry.end] = [b""] * (entry.end - entry.first)
    return b"".join(lines)


def expired(proposal: Proposal, now: datetime) -> bool:
    """Whether a proposal waited so long that it is not to be decided any more; `now` has a zone."""
    try:
        made = datetime.fromisoformat(proposal.ts)
    except ValueError:
        return False
    return now - (made if made.tzinfo else made.replace(tzinfo=UTC)) > LIFETIME


def _state(mine: list[_Entry], proposal: Proposal, raw: bytes) -> str:
    """A person's decision, where the page is of one mind about it."""
    if not mine:
        return (
            "undecided"
            if proposal.id.encode() in raw or _bytes(describe(proposal)) in raw
            else "rejected"
        )
    marks = {
        "" if entry.action[:2] in (b"", b"~~") else entry.mark.lower() for entry in mine
    }
    if marks == {"x"}:
        return "approved"
    left = [entry for entry in mine if entry.mark == _DELETED]
    deleted = (
        len(left) == raw.count(proposal.id.encode())
        and _bytes(describe(proposal)) not in raw
    )
    return "rejected" if deleted or marks == {"-"} else "undecided"


def _entries(raw: bytes) -> Iterator[_Entry]:
    """The checklist items of the page; what stands in a fence or a comment is none."""
    lines = [
        line.rstrip(b"\r\n")
        for line in _LINE.findall(raw.removeprefix(b"\xef\xbb\xbf"))
    ]
    at, fence, comment = 0, b"", False
    while at < len(lines):
        mark = None if comment else _FENCE.match(lines[at])
        if mark and (not fence or mark[1].startswith(fence)):
            fence = b"" if fence else mark[1]
        comment = (
            not fence
            and (comment or lines[at].lstrip().startswith(b"<!--"))
            and b"-->" not in lines[at]
        )
        box = None if fence or comment else _BOX.match(lines[at])
        end = _end(lines, at) if box else at + 1
        if box:
            yield _Entry(at, end, box[1].decode(), box[2], _id_in(lines[at:end]))
        elif not (fence or comment) and _is_left_alone(lines, at):
            yield _Entry(at, end, _DELETED, b"", _id_in(lines[at:end]))
        at = end


def _is_left_alone(lines: list[bytes], at: int) -> bool:
    """Whether this is the second line of an entry whose first was deleted."""
    before = lines[at - 1] if at else b""
    return bool(
        _WHY.match(lines[at])
        and _ID.search(lines[at])
        and (not before.strip() or _ID.search(before))
    )


def _id_in(lines: list[bytes]) -> str:
    """The id at the end of an entry; none where other lines of it have one, too."""
    found = [
        one[1].decode() for line in (lines[1:] or lines) if (one := _ID.search(line))
    ]
    return found[0] if len(found) == 1 and _ID.search(lines[-1]) else ""


def _end(lines: list[bytes], first: int) -> int:
    """After the last line that goes on with the item of line `first`."""
    at = first + 1
    while (
        at < len(lines)
        and lines[at].strip()
        and not any(
            pattern.match(lines[at]) for pattern in (_ANY_ITEM, _HEADING, _FENCE)
        )
        and not (at > first + 1 and _is_left_alone(lines, at))
    ):
        at += 1
    return at


def _ends_in_entry(raw: bytes) -> bool:
    lines = _LINE.findall(raw)
    last = max((entry.end for entry in _entries(raw)), default=0)
    return last > 0 and not b"".join(lines[last:]).strip()


def _one_line(text: str) -> str:
    """Text that shows as it is: nothing in it is hidden, loads a picture, or turns the direction of what follows."""
    return _ACTIVE.sub(r"\\\g<0>", _HIDDEN.sub("\ufffd", " ".join(text.split())))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
