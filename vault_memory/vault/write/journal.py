"""What is under way in the vault, so that a crash at any moment can be finished or undone, and nothing is done twice.

A row for each write, from before its first trace in the vault until its audit record is safe; a row for each file
that was displaced by a write and may still be open in somebody's editor. Every commit is on the disk when it
returns. The database lies outside the vault. Losing it loses no note: what lies in the vault then stays as it is.
"""

import logging
import operator
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory.database.connection import Connection, DatabaseError
from vault_memory.database.migrations import migrate, statements
from vault_memory.database.self_repair import RepairingConnection
from vault_memory.errors import VaultError
from vault_memory.lazy import lazy_module
from vault_memory.vault.write.wait_reasons import Reason

if TYPE_CHECKING:
    from vault_memory.database import salvage
else:
    salvage = lazy_module("vault_memory.database.salvage")

logger = logging.getLogger(__name__)

FILE = "journal.sqlite"
RECORDED, GAP = "recorded:", "gap:"
FORGOTTEN = "forgotten:"
"""Before a revision: the name of a state"""
SALVAGED = "salvaged"
"""The name of a state: the rows were read from a damaged file, and the newest may be missing"""

Phase = Literal["pending", "planned", "done"]
Side = Literal["ours", "theirs"]
By = Literal["person", "bot", "sync"]
"""Who put a version there; ``sync`` brought it from the server"""
Outcome = Literal["", "written", "merged", "copied", "unchanged", "trashed"]

STEPS = (
    """
    CREATE TABLE ops(
        op_id TEXT PRIMARY KEY, path TEXT NOT NULL, side TEXT NOT NULL, base TEXT, content TEXT NOT NULL,
        since REAL NOT NULL, stamp TEXT NOT NULL, quiet REAL NOT NULL, record BLOB NOT NULL, entry TEXT NOT NULL,
        phase TEXT NOT NULL, reason TEXT NOT NULL, expected TEXT, fresh TEXT NOT NULL, temp TEXT NOT NULL,
        outcome TEXT NOT NULL, after TEXT);
    CREATE INDEX ops_by_phase ON ops(phase);
    CREATE TABLE displaced(
        place TEXT PRIMARY KEY, path TEXT NOT NULL, incorporated TEXT NOT NULL, since REAL NOT NULL,
        seen TEXT NOT NULL, seen_at REAL NOT NULL, looks INTEGER NOT NULL, next_look REAL NOT NULL);
    CREATE TABLE blobs(revision TEXT PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE versions(
        id INTEGER PRIMARY KEY, path TEXT NOT NULL, revision TEXT NOT NULL, at REAL NOT NULL, by TEXT NOT NULL,
        kept INTEGER NOT NULL);
    CREATE INDEX versions_by_path ON versions(path, id);
    CREATE TABLE trash(
        id TEXT PRIMARY KEY, path TEXT NOT NULL, revision TEXT NOT NULL, at REAL NOT NULL);
    CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    "CREATE TABLE unjudged(version INTEGER PRIMARY KEY);",
    "ALTER TABLE ops ADD COLUMN by TEXT NOT NULL DEFAULT 'bot';",
    "CREATE INDEX versions_by_revision ON versions(revision);",
)


class JournalUnavailable(VaultError):
    """The journal takes nothing more now, so nothing was written at all."""

    exit_code = 75
    http_status = 503

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the journal cannot be written: {reason}",
            hint="free some space on its disk and try again",
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """One write, on its way."""

    op_id: str
    path: str
    side: Side
    """Whose text `content` is: ours, or that of a person who saved into a displaced file."""
    base: str | None
    """Revision the content was made from; None for a new note."""
    content: str
    """Revision of the whole new text as it was made from `base`; "" when the note is to go to the trash."""
    since: float
    stamp: str
    """Date and time for the name of a conflict copy."""
    quiet: float = 0.0
    """Seconds for which the note must have been left alone by others."""
    record: bytes = field(default=b"", repr=False)
    """Handed back when the op is done, e.g. for the audit."""
    entry: str = ""
    """The displaced file whose late text this is."""
    phase: Phase = "pending"
    reason: Reason | Literal[""] = ""
    """Why it waits."""
    expected: str | None = None
    """Revision of the note that this attempt replaces."""
    fresh: str = ""
    """Revision that this attempt puts there."""
    temp: str = ""
    """Name of the temporary of this attempt, in the folder of the note."""
    outcome: Outcome = ""
    after: str | None = None
    by: By = "bot"
    """On whose behalf."""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class DisplacedFile:
    """A file that lost its name to a write, and may still be written to by whoever has it open."""

    place: str
    """Its path in the vault now."""
    path: str
    """The note it was."""
    incorporated: str
    """Revision of its bytes that is contained in the note."""
    since: float
    seen: str = ""
    """Revision at the last look."""
    seen_at: float = 0.0
    """When it was first seen so."""
    looks: int = 0
    next_look: float = 0.0


_OP_FIELDS = tuple(one.name for one in fields(PendingWrite))
_DISPLACED_FIELDS = tuple(one.name for one in fields(DisplacedFile))
_OP, _DISPLACED = ", ".join(_OP_FIELDS), ", ".join(_DISPLACED_FIELDS)
_put = operator.attrgetter(*_OP_FIELDS)
_displace = operator.attrgetter(*_DISPLACED_FIELDS)


class Journal:
    """The rows. Every change is made within `transaction`, and is durable when that ends."""

    def __init__(self, connection: Connection | RepairingConnection) -> None:
        self.connection = connection
        if not isinstance(connection, RepairingConnection):
            _prepare(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; raises JournalUnavailable when it cannot be kept."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except DatabaseError as error:
            raise JournalUnavailable(str(error)) from None
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            if isinstance(error, DatabaseError):
                raise JournalUnavailable(str(error)) from None
            raise

    def put(self, op: PendingWrite) -> None:
        """Keep this state of an op."""
        self.connection.execute(
            f"INSERT OR REPLACE INTO ops({_OP}) VALUES ({_marks(_OP_FIELDS)})", _put(op)
        )

    def op(self, op_id: str) -> PendingWrite | None:
        return next(iter(self._ops("op_id = ?", op_id)), None)

    def ops(self, phase: Phase) -> list[PendingWrite]:
        """All ops in this phase, the oldest first."""
        return self._ops("phase = ?", phase)

    def remove(self, op_id: str) -> None:
        self.connection.execute("DELETE FROM ops WHERE op_id = ?", (op_id,))

    def acknowledge(self, op_id: str, note: str) -> None:
        """Forget an op whose record is safe in the audit of a note; that it was the last one there stays known."""
        if note:
            self.set_recorded(note, op_id)
        self.remove(op_id)

    def recorded(self) -> dict[str, str]:
        """The last record that is known to be safe in the audit of each note."""
        rows = self.connection.execute(
            "SELECT name, value FROM state WHERE name LIKE ?", (f"{RECORDED}%",)
        )
        return {str(name).removeprefix(RECORDED): str(value) for name, value in rows}

    def recorded_of(self, note: str) -> str:
        """The same of one note, or "" """
        return self.state(RECORDED + note) or ""

    def gaps(self) -> set[str]:
        """The notes from whose audit records were once missing."""
        rows = self.connection.execute(
            "SELECT name FROM state WHERE name LIKE ?", (f"{GAP}%",)
        )
        return {str(name).removeprefix(GAP) for (name,) in rows}

    def set_gap(self, note: str, record_id: str) -> None:
        self.set_state(GAP + note, record_id)

    def set_recorded(self, note: str, record_id: str) -> None:
        self.set_state(RECORDED + note, record_id)

    def supersede(self, op: PendingWrite) -> None:
        """Drop what was planned for earlier late text of the same displaced file."""
        self.connection.execute(
            "DELETE FROM ops WHERE entry = ? AND entry != '' AND op_id != ? AND phase != 'done'",
            (op.entry, op.op_id),
        )

    def displace(self, entry: DisplacedFile) -> None:
        """Keep this state of a displaced file."""
        self.connection.execute(
            f"INSERT OR REPLACE INTO displaced({_DISPLACED}) VALUES ({_marks(_DISPLACED_FIELDS)})",
            _displace(entry),
        )

    def displaced(self) -> list[DisplacedFile]:
        rows = self.connection.execute(
            f"SELECT {_DISPLACED} FROM displaced ORDER BY since, place"
        )
        return [DisplacedFile(*row) for row in rows]

    def entry(self, place: str) -> DisplacedFile | None:
        rows = self.connection.execute(
            f"SELECT {_DISPLACED} FROM displaced WHERE place = ?", (place,)
        )
        return next((DisplacedFile(*row) for row in rows), None)

    def forget_displaced(self, place: str) -> None:
        self.connection.execute("DELETE FROM displaced WHERE place = ?", (place,))

    def throw_away(self, op: PendingWrite, now: float) -> None:
        """The note of this op lies in the trash from now on."""
        self.connection.execute(
            "INSERT OR IGNORE INTO trash VALUES (?, ?, ?, ?)",
            (op.op_id, op.path, op.base, now),
        )

    def threw_away(self, path: str, revision: str) -> bool:
        """Whether this version of a note lies in the trash."""
        query = "SELECT 1 FROM trash WHERE path = ? AND revision = ?"
        return self.connection.execute(query, (path, revision)).fetchone() is not None

    def state(self, name: str) -> str | None:
        """A value kept under a name."""
        rows = self.connection.execute(
            "SELECT value FROM state WHERE name = ?", (name,)
        )
        return next((str(value) for (value,) in rows), None)

    def set_state(self, name: str, value: str) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value)
        )

    def is_salvaged(self) -> bool:
        """Whether the rows were read from a damaged file, and `trust_again` was not called since."""
        return self.state(SALVAGED) is not None

    def trust_again(self) -> None:
        """What a damaged file may have lost is made up for."""
        with self.transaction():
            self.connection.execute("DELETE FROM state WHERE name = ?", (SALVAGED,))

    def repair(self, reason: str) -> None:
        """Copy what can be read into a new file. Raises DatabaseError, OSError."""
        if isinstance(self.connection, RepairingConnection):
            self.connection.repair(reason)

    def drop_states(self, start: str, before: str) -> None:
        """Forget the values under names that begin so, as far as they sort before another."""
        self.connection.execute(
            "DELETE FROM state WHERE substr(name, 1, ?) = ? AND value < ?",
            (len(start), start, before),
        )

    def is_forgotten(self, revision: str) -> bool:
        """Whether the bytes of this revision are not kept because somebody wanted it so."""
        return self.state(FORGOTTEN + revision) is not None

    def close(self) -> None:
        self.connection.close()

    def _ops(self, where: str, value: str) -> list[PendingWrite]:
        rows = self.connection.execute(
            f"SELECT {_OP} FROM ops WHERE {where} ORDER BY since, rowid", (value,)
        )
        return [PendingWrite(*row) for row in rows]


def open_journal(folder: Path) -> Journal:
    """The journal in this folder, which is made private.

    Whenever its file turns out to be damaged, what can be read goes into a new one, and the damaged one is put aside.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = RepairingConnection(folder / FILE, _prepare, _salvage)
    journal = Journal(connection)
    if journal.ops("planned") and (verdict := connection.pragma("quick_check")) != "ok":
        connection.repair(
            str(verdict)
        )  # a write that a crash cut short is not finished from damaged rows
    return journal


def _prepare(connection: Connection) -> None:
    connection.pragma("secure_delete", True)
    migrate(connection, [statements(text) for text in STEPS])


def _salvage(damaged: Path, connection: Connection) -> None:
    """Copy the rows that can be read. A write whose text is lost cannot be carried out: it is dropped, and named."""
    counts = salvage.salvage(damaged, connection, {"blobs": _is_whole, "ops": _is_op})
    lost = connection.execute(
        "SELECT op_id, path FROM ops WHERE phase != 'done' AND content != ''"
        " AND content NOT IN (SELECT revision FROM blobs)"
    ).fetchall()
    connection.executemany(
        "DELETE FROM ops WHERE op_id = ?", [(op_id,) for op_id, _ in lost]
    )
    connection.execute(
        "DELETE FROM trash WHERE revision NOT IN (SELECT revision FROM blobs)"
    )
    connection.execute(
        "INSERT OR REPLACE INTO state VALUES (?, ?)", (SALVAGED, damaged.name)
    )
    logger.warning(
        "of a damaged journal were read: %d versions, %d texts, %d writes, %d entries of the trash",
        counts["versions"],
        counts["blobs"],
        counts["ops"] - len(lost),
        counts["trash"],
    )
    for path in sorted({str(path) for _, path in lost}):
        logger.warning("a write to `%s` that waited is lost; ask for it again", path)


def _is_whole(row: Mapping[str, object]) -> bool:
    packed = row["packed"]
    if not isinstance(packed, bytes):
        return False
    try:
        return sha256(zlib.decompress(packed)).hexdigest() == row["revision"]
    except zlib.error:
        return False


def _is_op(row: Mapping[str, object]) -> bool:
    return row["phase"] in ("pending", "planned", "done") and row["side"] in (
        "ours",
        "theirs",
    )


def _marks(names: tuple[str, ...]) -> str:
    return ", ".join("?" * len(names))
