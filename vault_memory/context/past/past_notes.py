"""The notes as they were at the end of an earlier day, from the snapshots and the audit logs."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from vault_memory.edits.calls import EditCalls
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.errors import VaultError
from vault_memory.rules.edits.audit_record import Record, moment_of, revision
from vault_memory.rules.edits.unified_diff import taken_back
from vault_memory.rules.paths.layout import Place
from vault_memory.vault.listing import Stat
from vault_memory.vault.snapshots import KEPT_FOR, Version
from vault_memory.vault.write.trash import TrashedNote

LARGEST = 64 << 20
"""Bytes of the largest log that is read"""
LOGS = frozenset({"transcript", "ledger", "audit"})
"""Kinds of files of which each line has a time"""

UNKNOWN = "what it said then is unknown: the versions of that time are not kept"
PERHAPS_EDITED = "what people changed by hand around that day is unknown"
GONE = "it was deleted or renamed since, and the day of that is unknown"
UNREADABLE = "it cannot be read now"


class PastNote(NamedTuple):
    """A note at an earlier moment."""

    raw: bytes | None
    """None: there was no note, or what it said is unknown"""
    doubt: str = ""
    """what is unknown about it"""


NO_NOTE = PastNote(None)


class PastNotes:
    """Rebuilds the notes of some scopes as they were at a moment."""

    def __init__(
        self, edits: EditCalls, scopes: Sequence[str], moment: datetime, now: datetime
    ) -> None:
        """The caller holds the transaction of `edits`."""
        self._folder = edits.vault.folder
        self._layout = edits.vault.layout
        self._editor = edits.editor
        self._snapshots = edits.editor.writer.snapshots
        self._scopes = frozenset(scopes)
        self._moment = moment
        self._at = moment.timestamp()
        self._entries = self._folder.listing().entries
        self._trash: dict[str, list[TrashedNote]] = {}
        for thrown in edits.editor.writer.thrown():
            self._trash.setdefault(thrown.path, []).append(thrown)
        self._covered = self._is_covered(now)

    def notes(self) -> Iterator[tuple[str, str, PastNote]]:
        """Yields path and kind of each note that may have existed, with what it said."""
        paths = {*self._entries, *self._snapshots.paths()}
        for path in sorted(paths):
            place = self._layout.place(path)
            if place is not None and self._is_wanted(place):
                yield path, place.kind, self._at_moment(path)

    def logs(self) -> Iterator[tuple[str, bytes]]:
        """Yields the transcripts, ledgers and audit logs up to the moment, by path."""
        for path in self._folder.listing(suffixes=(".jsonl",)).entries:
            place = self._layout.place(path)
            if place is None or place.kind not in LOGS:
                continue
            # A person finds their own turns in channels, too.
            is_open = place.scope in self._scopes or place.scope.startswith("channel:")
            if is_open:
                raw = self._read(path)
                if raw is not None:
                    yield path, self._lines_until(raw)

    def _is_wanted(self, place: Place) -> bool:
        if not place.indexed or place.kind == "transcript":
            return False
        # Fault: a note of a later day did not exist at that moment.
        is_later = place.date is not None and place.date > self._moment.date()
        return place.scope in self._scopes and not is_later

    def _is_covered(self, now: datetime) -> bool:
        """Whether all versions of that time are kept, so that a later note did not exist."""
        oldest = now - timedelta(seconds=KEPT_FOR)
        seen = (
            version.at
            for path in self._snapshots.paths()
            for version in self._snapshots.chain(path)[-1:]
        )
        return self._moment >= oldest and min(seen, default=self._at + 1) <= self._at

    def _at_moment(self, path: str) -> PastNote:
        chain = self._chain(path)
        stat = self._entries.get(path)
        if stat is not None and self._is_unchanged(stat, chain):
            raw = self._read(path)
            return PastNote(raw, "" if raw is not None else UNREADABLE)
        version = next((entry for entry in chain if entry.at <= self._at), None)
        if version is not None:
            return self._of_version(path, version, is_live=stat is not None)
        return self._before_versions(path, chain)

    def _chain(self, path: str) -> list[Version]:
        """The versions of a note, the newest first, with those under its earlier name."""
        chain = self._editor.past.chain(path)
        if chain and chain[-1].at > self._at:
            chain += self._snapshots.before(path, chain[-1].revision)
        return chain

    def _is_unchanged(self, stat: Stat, chain: Sequence[Version]) -> bool:
        """Whether the present text was there at the moment already."""
        # Fault: the file was edited after the moment.
        if stat.mtime_ns / 1e9 > self._at:
            return False
        # A copied file keeps its old time: the day on which it was first seen counts.
        return not chain or chain[0].at <= self._at or not self._covered

    def _of_version(self, path: str, version: Version, *, is_live: bool) -> PastNote:
        if not is_live and not self._was_there(path, version):
            return NO_NOTE
        raw = self._snapshots.bytes_of(version.revision)
        if raw is None:
            # Fault: the retention removed the text of this version. A later text in its place would
            # be false.
            return PastNote(None, UNKNOWN)
        is_newest = version == next(iter(self._snapshots.chain(path)), None)
        if not is_live and is_newest and not self._trash.get(path):
            return PastNote(None, GONE)
        return PastNote(raw)

    def _was_there(self, path: str, version: Version) -> bool:
        """Whether a note that is gone now was still there at the moment."""
        return not any(version.at <= thrown.at <= self._at for thrown in self._trash.get(path, ()))

    def _before_versions(self, path: str, chain: Sequence[Version]) -> PastNote:
        """What a note said before its oldest version, by the audit."""
        if self._covered:
            return NO_NOTE
        raw = self._snapshots.bytes_of(chain[-1].revision) if chain else None
        if raw is None:
            raw = self._read(path)
        if raw is None:
            return PastNote(None, UNKNOWN)
        earlier = _rewound(raw, self._editor.trail.of(path), self._moment)
        if earlier.raw is None:
            return NO_NOTE if earlier.is_known else PastNote(None, UNKNOWN)
        return PastNote(earlier.raw, "" if earlier.is_known else PERHAPS_EDITED)

    def _read(self, path: str) -> bytes | None:
        try:
            return self._folder.read(path, max_bytes=LARGEST).raw
        except (VaultError, NotCurated):
            # A person removed the note after the listing, or it cannot be read now.
            return None

    def _lines_until(self, raw: bytes) -> bytes:
        lines = [line for line in raw.split(b"\n") if self._is_earlier(line)]
        return b"".join(line + b"\n" for line in lines)

    def _is_earlier(self, line: bytes) -> bool:
        try:
            ts = json.loads(line)["ts"]
        except (ValueError, KeyError, TypeError, RecursionError):
            # A crash may leave a torn line; nothing says when it was written.
            return False
        # Fault: a line without a time may be younger than the moment.
        at = _time_of(ts) if isinstance(ts, str) else None
        return at is not None and at <= self._moment


class _Rewound(NamedTuple):
    """What a note said at an earlier moment, as far as the records of its edits know."""

    raw: bytes | None
    """None: there was no note, or the records do not reach back"""
    is_known: bool
    """whether the records leave nothing open"""


_OPEN = _Rewound(None, is_known=False)
_NO_TEXT = _Rewound(None, is_known=True)


def _time_of(text: str) -> datetime | None:
    """Returns the time of a record; None for an unreadable one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _rewound(raw: bytes, records: Sequence[Record], moment: datetime) -> _Rewound:
    """Returns what a note said at `moment`, from a later version and the records of its edits.

    `records` are those of the note, oldest first. Between two records a person may have written,
    too: then the text of that time is unknown.
    """
    # Fault: a folded record stands for others, and no longer says what they changed.
    folded = filter(attrgetter("folded"), records)
    if any(moment_of(record.ts) > moment for record in folded):
        return _OPEN
    current = revision(raw)
    later = False
    for record in reversed(records):
        if record.before == record.after:
            continue
        at = _time_of(record.ts)
        if at is not None and at <= moment:
            return _Rewound(raw, is_known=record.after == current)
        if record.after != current:
            # The version is older than this edit, or a person wrote after it.
            if later:
                return _OPEN
            continue
        later = True
        if not record.before:
            return _NO_TEXT
        earlier = taken_back(raw, record.diff)
        # A redacted record no longer has the diff of its edit.
        if earlier is None or revision(earlier) != record.before:
            return _OPEN
        raw, current = earlier, record.before
    return _Rewound(raw, is_known=False) if later else _OPEN
