"""Forgets a text in a vault: redacts the files, their past and the index, then verifies the result.

The verification reads all files and rows again. It does not rely on the redaction.
"""

import json
import logging
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons import table
from vault_memory.config import state_file
from vault_memory.database.connection import DatabaseError
from vault_memory.edits.calls import aware
from vault_memory.errors import VaultMemoryError
from vault_memory.forgetting import vault_files
from vault_memory.forgetting.retract import Remaining
from vault_memory.forgetting.state_residue import (
    NAMED,
    ON_SERVER,
    damaged_files,
    files_put_aside,
    find_traces,
    orphaned_audits,
    rename,
    running_daemon,
)
from vault_memory.index import index_erase
from vault_memory.ingest import note
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.sync import state_erase

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.forgetting.vault_files import Forgetter, RedactionReport

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""How long to wait for files that are in use"""
ROUNDS = 3
"""Redactions at most: another process may write the text again that it read before the first"""
STATE = "state: "
"""Prefix of the name of a file of the state folder"""
NOT_OURS = "no layout names it as memory, so it is not changed; edit it yourself"
DAEMON = (
    "the daemon may have the text in its memory until it is restarted; it reads no file"
    " that contains it"
)
AGAIN = "the text is there again; run `forget` again"
BUILDING = "build.lock"
CLEARED = ("journal.sqlite", "index/")
"""The files of the state folder that are redacted"""
LAST_REPORTS = "nights/*.last.json"
REPORT_PAGES = ("nights/reports/*.md", "nights/aged-out.jsonl")
REPORT_TEXTS = ("outcome", "by_day", "speakers", "files")
"""Fields of a report that may have names and words. Without its other fields a night would read all
turns again."""


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """A place, and how often the text was or is there."""

    place: str
    """A path, `history`, `trash`, `waiting writes`, `index`, or a file of the state folder"""
    count: int
    """Number of items, lines, records or versions"""


@dataclass(frozen=True, slots=True)
class InMemory:
    """A running process that may still have the text in its memory."""

    pid: int
    why: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that something was forgotten; it does not repeat the text."""

    id: str
    ts: str
    places: int
    count: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What `forget` did, or would do in a dry run."""

    matches: int
    removed: tuple[PlaceCount, ...]
    remaining: tuple[Remaining, ...] = ()
    receipt: Receipt | None = field(default=None)
    """None for a dry run"""
    alike: tuple[PlaceCount, ...] = ()
    """look-alike spellings of the text, which stay"""
    in_memory: tuple[InMemory, ...] = ()


def forget(
    edits: "EditCalls",
    text: str,
    *,
    scopes: Collection[str] | None,
    now: datetime | None,
    dry_run: bool,
) -> Forgotten:
    """Redacts `text` everywhere and verifies the result.

    Raises TextTooShort, UsageError, JournalUnavailable.
    """
    matcher = TextMatcher.of(text)
    moment = aware(now)
    work = _ForgetRun(edits, matcher, None if scopes is None else frozenset(scopes))
    work.count(moment)
    if dry_run:
        return work.result(None)
    # Fault: another process may write the text again that it read before the first
    # round. A program that writes it without a pause must not keep this call for ever.
    for number in range(ROUNDS):
        remaining_before = dict(work.report.remaining)
        work.report.remaining.clear()
        work.redact(moment, patient=number == 0)
        work.verify(moment)
        if not work.report.remaining or work.report.remaining == remaining_before:
            break
    result = work.result(moment)
    logger.info(
        "forgot something in %d places; it remains in %d",
        len(result.removed),
        len(result.remaining),
    )
    return result


class _ForgetRun:
    """Forgets one text in one vault; `scopes` None means all of the vault."""

    def __init__(
        self, edits: "EditCalls", matcher: "TextMatcher", scopes: frozenset[str] | None
    ) -> None:
        self._edits = edits
        self._matcher = matcher
        self._scopes = scopes
        self._root = edits.vault.root
        self._state: Path = edits.vault.state.path
        self._forgetter: Forgetter = vault_files.Forgetter(
            edits.editor, edits.vault.layout, matcher, scopes
        )
        self.report: RedactionReport = vault_files.RedactionReport()

    def count(self, now: datetime) -> None:
        """Counts the text in all places. Changes nothing."""
        report = self.report
        self._forgetter.count_in_vault(report)
        if (self._state / "journal.sqlite").exists():
            self._forgetter.count_in_history(report, now)
        if self._has_index():
            report.add("index", sum(self._notes_in_index().values()))
        for file in (*damaged_files(self._state), *self._files_put_aside()):
            report.add(STATE + self._state_path(file), 1)
        for file in reports_with_text(self._state, self._matcher, self._scopes):
            report.add(STATE + self._state_path(file), 1)
        for path, _ in self._orphaned_audits():
            report.add(path, 1)
        report.remaining.update(self._traces(redacted=False))

    def redact(self, now: datetime, *, patient: bool) -> None:
        """Removes the text; a `patient` call waits a moment for files that are in use."""
        with self._edits.editor.turn(now):
            for path, masked in self._orphaned_audits():
                rename(self._root, path, masked)
        patience = PATIENCE_SECONDS if patient else 0.0
        self._forgetter.redact(self.report, now, patience=patience)
        for file in (*damaged_files(self._state), *self._files_put_aside()):
            file.unlink(missing_ok=True)
        reports = reports_with_text(self._state, self._matcher, self._scopes)
        for file, text in reports.items():
            state_file.write(file, text)
        self._forgetter.keys.clear_state(self._state)
        if self._scopes is None:
            self._clear_sync_state()
        if self._has_index():
            self._clear_index()
        for companion in table.companions("index"):
            self.report.remaining.update(
                companion.forget(self._edits.vault, self._matcher, self._scopes)
            )

    def verify(self, now: datetime) -> None:
        """Searches all files and rows again, and reports where the text remains."""
        second = vault_files.RedactionReport()
        self._forgetter.count_in_vault(second)
        self._forgetter.count_in_history(second, now)
        self.report.alike = second.alike
        residue = dict(self._traces(redacted=True)) | second.remaining
        residue |= dict.fromkeys(second.removed, AGAIN)
        if self._has_index():
            residue.update(self._left_in_index())
        self.report.remaining = residue | self.report.remaining

    def result(self, now: datetime | None) -> Forgotten:
        """Returns the result; with `now` it has a receipt."""
        mask = self._matcher.masked
        report = self.report
        removed = tuple(
            PlaceCount(mask(place), count)
            for place, count in report.removed.items()
            if place not in report.remaining
        )
        remaining = tuple(Remaining(mask(place), why) for place, why in report.remaining.items())
        alike = tuple(PlaceCount(mask(place), count) for place, count in report.alike.items())
        count = sum(place.count for place in removed)
        if now is None:
            return Forgotten(count, removed, remaining, None, alike, ())
        receipt = Receipt(secrets.token_hex(8), now.isoformat(), len(removed), count)
        return Forgotten(count, removed, remaining, receipt, alike, self._in_memory())

    def _in_memory(self) -> tuple[InMemory, ...]:
        pid = running_daemon(self._state)
        return (InMemory(pid, DAEMON),) if pid else ()

    # --- The index ---

    def _has_index(self) -> bool:
        return bool(self._edits.vault.indexing.generations.current)

    def _notes_in_index(self) -> dict[str, int]:
        """Returns the notes with the text in indexed chunks, each with the number of chunks."""
        index = self._edits.vault.indexing.index()
        notes = index_erase.notes_holding(index, self._matcher.stands_in)
        return {
            path: count
            for path, (scope, count) in notes.items()
            if self._scopes is None or scope in self._scopes
        }

    def _clear_index(self) -> None:
        """Indexes the notes as they are now, and deletes older content from the index files."""
        indexing = self._edits.vault.indexing
        indexing.refresh()
        # Fault: a note that is absent or cannot be read keeps its old chunks in a
        # refresh.
        for path in self._notes_in_index():
            note.forget_note(indexing.index(), path)
        # Fault (G118): another process may be building the next generation from notes
        # that it read before.
        with state_file.lock(indexing.generations.folder / BUILDING):
            for file in index_erase.superseded(indexing.generations):
                file.unlink(missing_ok=True)
        if not index_erase.sweep(indexing.index()):
            why = "another process reads it; run `forget` again"
            self.report.remaining[STATE + "index"] = why

    def _left_in_index(self) -> Iterator[tuple[str, str]]:
        if self._notes_in_index():
            yield "index", AGAIN
        if index_erase.unused(self._edits.vault.indexing.index()):
            yield "index", "words or vectors of removed text are left; run `forget` again"

    # --- Other places ---

    def _files_put_aside(self) -> list[Path]:
        if self._scopes is not None:
            return []
        return files_put_aside(self._state, self._matcher)

    def _orphaned_audits(self) -> list[tuple[str, str]]:
        """Returns the audit files of renamed notes whose own names contain the text."""
        if self._scopes is not None:
            return []
        return list(orphaned_audits(self._root, self._matcher))

    def _clear_sync_state(self) -> None:
        """Removes old names from the state of sync."""
        place = STATE + "sync.sqlite"
        try:
            erased = state_erase.erase_names(
                self._state, self._matcher.stands_in, lambda path: (self._root / path).exists()
            )
        except (DatabaseError, VaultMemoryError) as error:
            self.report.remaining[place] = f"it cannot be read: {error}"
            return
        self.report.add(place, erased.count)
        if erased.on_server:
            self.report.remaining[place] = ON_SERVER
        elif not erased.compacted:
            self.report.remaining[place] = "another process reads it; run `forget` again"

    def _traces(self, *, redacted: bool) -> Iterator[tuple[str, str]]:
        """Yields the files with the text, and why.

        Before the redaction it leaves out those that the redaction changes.
        """
        traces = find_traces(
            self._root, self._matcher, skips=lambda path: self._is_skipped(path, redacted=redacted)
        )
        for path, why in traces:
            if why == NAMED or self._forgetter.covers(path):
                yield path, why
            elif _is_temporary(path):
                yield path, vault_files.LINGERS
            else:
                yield path, NOT_OURS
        if self._scopes is None:
            yield from self._traces_in_state(redacted=redacted)

    def _is_skipped(self, path: str, *, redacted: bool) -> bool:
        """Whether a file of the vault is left out of a search for traces."""
        is_covered = self._forgetter.covers(path)
        if self._scopes is not None and not is_covered:
            return True
        if redacted or self._matcher.stands_in(path):
            return False
        return is_covered or _is_temporary(path)

    def _traces_in_state(self, *, redacted: bool) -> Iterator[tuple[str, str]]:
        skipped: tuple[str, ...] = ()
        if not redacted:
            reports = reports_with_text(self._state, self._matcher, self._scopes)
            files = (*self._files_put_aside(), *reports)
            aside = map(self._state_path, files)
            skipped = (*CLEARED, *aside)
        traces = find_traces(
            self._state, self._matcher, skips=lambda path: path.startswith(skipped)
        )
        for path, why in traces:
            yield STATE + path, why

    def _state_path(self, file: Path) -> str:
        return file.relative_to(self._state).as_posix()


def _is_temporary(path: str) -> bool:
    """Whether the name is one that the writer gives to temporary and displaced files."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and ".~" in name


# --- Night reports ---

# Removes a text from what the nights reported, in the state folder.
#
# The last report of a channel names who spoke in it.


def reports_with_text(
    state: Path, matcher: "TextMatcher", scopes: Collection[str] | None
) -> dict[Path, str]:
    """Returns the reports of these scopes with the text, of all for None, and what stays of each."""
    changes = dict(_redacted_reports(state, matcher, scopes))
    if scopes is None:
        changes |= _redacted_pages(state, matcher)
    return changes


def _redacted_reports(
    state: Path, matcher: "TextMatcher", scopes: Collection[str] | None
) -> Iterator[tuple[Path, str]]:
    for file in sorted(state.glob(LAST_REPORTS)):
        report = state_file.read_json(file)
        if not isinstance(report, dict):
            # Fault: a damaged file has no fields to redact. The search for residue names it.
            continue
        if scopes is None or report.get("scope") in scopes:
            texts = {key: report[key] for key in REPORT_TEXTS if key in report}
            redacted = _without(texts, matcher)
            if redacted != texts:
                yield file, json.dumps(report | redacted)


def _redacted_pages(state: Path, matcher: "TextMatcher") -> Iterator[tuple[Path, str]]:
    for pattern in REPORT_PAGES:
        for file in sorted(state.glob(pattern)):
            lines = file.read_text("utf-8", "replace").splitlines(keepends=True)
            others = [line for line in lines if not matcher.hides(line)]
            if others != lines:
                yield file, "".join(others)


def _without(value: Any, matcher: "TextMatcher") -> Any:
    """Returns a JSON value without the strings and keys that contain the text."""
    if isinstance(value, Mapping):
        return {
            key: _without(entry, matcher) for key, entry in value.items() if not matcher.hides(key)
        }
    if isinstance(value, list):
        return [_without(entry, matcher) for entry in value if not _hides(entry, matcher)]
    return "" if _hides(value, matcher) else value


def _hides(value: Any, matcher: "TextMatcher") -> bool:
    return isinstance(value, str) and matcher.hides(value)
