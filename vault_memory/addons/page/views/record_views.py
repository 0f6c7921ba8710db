"""Log and nights: who changed what, when and why, what each night learned, and undo of both."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from markupsafe import Markup

from vault_memory.addons.page import markdown, wording
from vault_memory.addons.page.diffs import DiffLine, recorded
from vault_memory.addons.page.forms import OPEN_AGAIN, NoFields
from vault_memory.addons.page.page_answers import Answer, NotHere, PageView
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import answer_of, own_path
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.blame import added_lines
from vault_memory.rules.edits.op_words import in_words
from vault_memory.rules.edits.record_sentences import RecordSentence, outcome_of, sentences_of

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit


WHO: Mapping[str, str] = {
    "nightly": "learned at night",
    "tool": "the bot",
    "cli": "by hand",
    "inbox": "approved by you",
    "undo": "by Undo",
    "forget": "forgotten by hand",
    "retention": "the rule for old notes",
    "proposal": "proposed by the bot",
    "merge": "merged",
    "talk": "you asked for it",
}
"""Source of a record → who that is"""
HINT = "the log lists the records with their ids"
MOST_TURNS = 20
_CITED = re.compile(r"\bref:([^\s,;)\]'\"]+)")


def turns_in(texts: Iterable[str]) -> list[str]:
    """Return the ids of the first turns that texts cite."""
    turns = dict.fromkeys(turn for text in texts for turn in _CITED.findall(text))
    return list(turns)[:MOST_TURNS]


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One audit record, and what the page says of it."""

    record: Record
    undone_by: str
    """the id of the record that undid it; empty when it is in effect"""
    sentences: Sequence[RecordSentence]
    """what became of each line"""
    diff: Sequence[DiffLine] = ()
    """empty in a list of records"""
    from_disk: Sequence[DiffLine] = ()
    """what others had saved before a text was saved, which was merged with it"""

    @property
    def summary(self) -> str:
        """What it came to"""
        return outcome_of(self.record, self.sentences)

    @property
    def who(self) -> str:
        """Whose doing it was"""
        return WHO.get(self.record.source, self.record.source)

    @property
    def turns(self) -> list[str]:
        """The ids of the turns behind it"""
        turns = (applied.op.get("turn") for applied in self.record.applied)
        cited = [f"ref:{turn}" for turn in turns if turn]
        return turns_in([*added_lines(self.record), *cited])

    @property
    def remarks(self) -> list[str]:
        """What the diff does not show: refused, proposed and idle ops"""
        record = self.record
        idle = [applied.op for applied in record.applied if applied.outcome != "applied"]
        return [
            *(f"nothing to do: {in_words(op)}" for op in idle),
            *(f"proposed, {each.state}: {in_words(each.op)}" for each in record.proposed),
            *(f"refused, {each.reason}: {in_words(each.op)}" for each in record.rejected),
        ]

    @property
    def has_changed(self) -> bool:
        """Whether its note is another one since"""
        return self.record.before != self.record.after

    @property
    def can_undo(self) -> bool:
        """Whether it is in effect, and kept as it was"""
        record = self.record
        return self.has_changed and not (record.redacted or record.folded or self.undone_by)


def row_of(record: Record, undone_by: str, *, complete: bool = False) -> RecordRow:
    """Return a record for a template; with `complete` also its diff, which lists do not show."""
    diff = recorded(record.diff) if complete else ()
    return RecordRow(record, undone_by, sentences_of(record), diff)


def records(viewer: Viewer) -> Iterator[tuple[Record, str]]:
    """Yield the records, the newest first, each with the id of the one that undid it, or ""."""
    undone: dict[str, str] = {}
    for record in reversed(viewer.audit.log()):
        undone_by = undone.get(record.id, "")
        # An undo that was undone itself undoes nothing.
        if record.undoes and record.before != record.after and not undone_by:
            undone.setdefault(record.undoes, record.id)
        yield record, undone_by


def record_named(viewer: Viewer, prefix: str) -> RecordRow:
    """Return the only record whose id begins so, with all of its diff. Raises UnclearId."""
    by_id = {
        record_id: (record, undone_by)
        for record, undone_by in records(viewer)
        for record_id in (*record.folded, record.id)
    }
    # Fault: the ids of other scopes among the candidates would show what others did.
    match = resolve(prefix, by_id)
    if not match.id:
        raise UnclearId("record", prefix, match.candidates, HINT)
    return row_of(*by_id[match.id], complete=True)


def notice(viewer: Viewer, record_id: str) -> RecordRow | None:
    """Return what a record says that was just made; None when the session may not see it."""
    try:
        row = record_named(viewer, record_id)
    except VaultMemoryError:
        # A link may name any id, and the view itself is there without it.
        return None
    merged = viewer.shared.from_disk(record_id)
    return replace(row, from_disk=recorded(merged.encode()))


NIGHT_SOURCES = frozenset({"nightly", "talk", "retention"})
"""Sources of what a night does: it also writes what people asked for"""
_NIGHT = re.compile(r"\bnight of ([0-9]{4}-[0-9]{2}-[0-9]{2})")


class RecordGroup(NamedTuple):
    """Records of a night or a day, newest first."""

    title: str
    night: str
    """its date; empty for a day"""
    rows: list[RecordRow]

    @property
    def can_undo(self) -> bool:
        """Whether anything of it can be undone"""
        return any(row.can_undo for row in self.rows)


def night_of(record: Record) -> str:
    """Return the date of the night that made a record; empty for any other record."""
    # Fault: a bot gives its own reasons, and could call any edit a night's.
    if record.source not in NIGHT_SOURCES:
        return ""
    match = _NIGHT.search(record.why)
    return match[1] if match else ""


def grouped(records: Iterable[tuple[Record, RecordRow]]) -> list[RecordGroup]:
    """Return groups in the order of their newest records."""
    groups: dict[str, RecordGroup] = {}
    for record, row in records:
        date = night_of(record)
        title = wording.night(date) if date else wording.day(record.ts) or "At an unknown time"
        groups.setdefault(title, RecordGroup(title, date, [])).rows.append(row)
    return list(groups.values())


PART = 50
"""Records in one part of the log"""


BOT = "bot"
"""In place of a source: only what the bot did"""


class LogFields(msgspec.Struct):
    """The fields of `/log`."""

    note: str = ""
    """its path, or its name without folders"""
    source: str = ""
    before: str = ""
    """the id of the last record of the part before"""
    id: str = ""
    """one record, with all of its diff"""


class UndoFields(msgspec.Struct):
    """The form of an Undo button."""

    id: str
    to: str = "/log"


def show_log(viewer: Viewer, query: LogFields) -> PageView:
    if query.id:
        return _show_one(viewer, query.id)
    groups, older = _part(viewer, query)
    data = {"query": query, "sources": WHO, "groups": groups, "older": older}
    return PageView("log.html", "Changes", data)


def undo(viewer: Viewer, form: UndoFields) -> Answer:
    own_path(form.to)
    edit = viewer.audit.undo(form.id)
    return answer_of(edit, form.to)


def _show_one(viewer: Viewer, record_id: str) -> PageView:
    row = record_named(viewer, record_id)
    return PageView(
        "record.html",
        f"A change of {wording.note_title(row.record.note)}",
        {"row": row, "tab": "/log"},
    )


def _part(viewer: Viewer, query: LogFields) -> tuple[list[RecordGroup], str]:
    """Return a part of the log, and the id with which the next one begins."""
    rows: list[tuple[Record, RecordRow]] = []
    for record, undone_by in _matches(viewer, query):
        if len(rows) == PART:
            return grouped(rows), rows[-1][0].id
        rows.append((record, row_of(record, undone_by)))
    return grouped(rows), ""


def _matches(viewer: Viewer, query: LogFields) -> "Iterator[tuple[Record, str]]":
    """Yield the records of a part and all older ones, with the ids of those that undid them."""
    is_older = not query.before
    # A record of this part may be undone by a newer one.
    for record, undone_by in records(viewer):
        if is_older and _is_wanted(record, query):
            yield record, undone_by
        is_older = is_older or record.id == query.before


def _is_wanted(record: "Record", query: LogFields) -> bool:
    if query.source == BOT and not (record.by_bot or night_of(record)):
        return False
    if query.source not in ("", BOT, record.source):
        return False
    if not query.note:
        return True
    file_name = record.note.rpartition("/")[2]
    return query.note in (record.note, file_name, file_name.rpartition(".")[0])


MOST_RECORDS = 200
"""Records that one press undoes"""
SHORT_LINES, SHORT_LETTERS = 30, 1_500
"""Of the diff of each of them"""
GONE = "it is undone already, or it changed nothing"
NOTHING_LEFT = "nothing of it is left in the note"


class NightUndoFields(msgspec.Struct):
    """The form of *Undo this night*."""

    night: str
    sure: str = ""
    """empty: only show what would be undone"""
    id: tuple[str, ...] = ()
    """the records that were shown"""


class NightStep(NamedTuple):
    """A record of the night, and what its undo does."""

    row: RecordRow
    diff: Sequence[DiffLine] = ()
    undo_id: str = ""
    """the record of the undo; empty when nothing was written"""
    reason: str = ""
    """why it is not undone; empty if it is"""


def undo_night(viewer: Viewer, form: NightUndoFields) -> PageView:
    rows = _rows(viewer, form.night)
    if not form.sure:
        return _preview(viewer, form.night, rows)
    record_ids = set(form.id)
    if not record_ids:
        raise UsageError("the form names no record", hint=OPEN_AGAIN)
    steps = [_undo(viewer, row, dry_run=False) for row in rows if row.record.id in record_ids]
    data = {
        "night": form.night,
        "undone": [step for step in steps if not step.reason],
        "remaining": [step for step in steps if step.reason],
    }
    return PageView("night_undone.html", f"{wording.night(form.night)}: undone", data)


def _rows(viewer: Viewer, night: str) -> list[RecordRow]:
    """Return the records of a night, newest first."""
    return [
        row_of(record, undone_by)
        for record, undone_by in records(viewer)
        if night and night_of(record) == night
    ]


def _preview(viewer: Viewer, night: str, rows: list[RecordRow]) -> PageView:
    changes = [row for row in rows if row.can_undo]
    steps = [_undo(viewer, row, dry_run=True) for row in changes[:MOST_RECORDS]]
    data = {"night": night, "steps": steps, "more": max(0, len(changes) - MOST_RECORDS)}
    return PageView("undo_night.html", f"Undo the night of {wording.day(night)}?", data)


def _undo(viewer: Viewer, row: RecordRow, *, dry_run: bool) -> NightStep:
    # Fault: the form may be sent twice. The second undo would bring everything back.
    if not row.can_undo:
        return NightStep(row, reason=GONE)
    try:
        edit = viewer.audit.undo(row.record.id, dry_run=dry_run)
    except VaultMemoryError as error:
        return NightStep(row, reason=viewer.reason(error))
    reason = _why_not(edit)
    return NightStep(
        row, recorded(edit.diff.encode(), SHORT_LINES, SHORT_LETTERS), edit.audit_id or "", reason
    )


def _why_not(edit: "Edit") -> str:
    """Return why an undo changed nothing; empty if it changed the note."""
    if edit.pending:
        pending = edit.pending[0]
        return f"it waits: {pending.explanation or pending.reason}"
    if edit.changed:
        return ""
    if edit.proposed:
        return "it is proposed in the inbox"
    return NOTHING_LEFT


MOST_NIGHTS = 100
"""Nights in the table, the newest ones"""
ADDING_OPS = frozenset({"append", "add_heading", "replace"})


def _learned(viewer: Viewer) -> tuple[Counter[str], Counter[str]]:
    """Count the lines that each night wrote, and its changes that are undone now."""
    lines: Counter[str] = Counter()
    undone: Counter[str] = Counter()
    for record, undone_by in records(viewer):
        night = night_of(record)
        if night and record.before != record.after:
            undone[night] += bool(undone_by)
            lines[night] += sum(
                applied.outcome == "applied" and applied.op.get("op") in ADDING_OPS
                for applied in record.applied
            )
    return lines, undone


class NightFields(msgspec.Struct):
    """The fields of `/nights/DATE`."""

    night: str


def show_nights(viewer: Viewer, query: NoFields) -> PageView:
    reports = viewer.calls.learning.night_reports()
    next_begins = viewer.next_night()
    learned, undone = _learned(viewer)
    data = {
        "next_begins": next_begins,
        "is_late": _is_late(reports[0].night if reports else "", next_begins),
        "reports": reports[:MOST_NIGHTS],
        "learned": learned,
        "undone": undone,
        "left_out": len(reports[MOST_NIGHTS:]),
    }
    return PageView("nights.html", "Nights", data)


def show_night(viewer: Viewer, query: NightFields) -> PageView:
    reports = viewer.calls.learning.night_reports()
    nights = [report.night for report in reports]
    if query.night not in nights:
        raise NotHere("there is no report of such a night", hint="see all nights")
    index = nights.index(query.night)
    report = reports[index]
    changes = _rows(viewer, report.night)
    data = {
        "report": report,
        "tab": "/nights",
        "changes": changes,
        "html": _as_html(report.text),
        "can_undo": any(row.can_undo for row in changes),
        "older": nights[index + 1] if index + 1 < len(nights) else "",
        "newer": nights[index - 1] if index else "",
    }
    return PageView("night.html", wording.night(report.night), data)


def _as_html(report: str) -> Markup:
    """Return a report as HTML. It has names of notes and people, and no links."""
    try:
        return Markup(markdown.render(report, lambda target: None))
    except markdown.TooLong:
        return Markup("<pre>{}</pre>").format(report)


def _is_late(newest: str, next_begins: str) -> bool:
    """Return whether a night has begun since the newest one that has a report."""
    if not newest or not next_begins:
        return False
    last_begun = datetime.fromisoformat(next_begins).date() - timedelta(days=1)
    return newest < last_begun.isoformat()
