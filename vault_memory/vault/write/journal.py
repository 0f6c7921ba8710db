"""The journal of pending writes, from which a crash at any moment can be recovered.

It has a row for each write, from before its first trace in the vault until its audit record is
safe. It has a row for each file that a write displaced and that an editor may have open. Every
commit is on the disk when it returns. The database is outside the vault. Losing it loses no note:
the vault then stays as it is.
"""

import logging
import operator
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from vault_memory import places
from vault_memory.database import salvage
from vault_memory.database.connection import Connection, DatabaseError
from vault_memory.database.migrations import migrate, statements
from vault_memory.database.secure_delete import compact
from vault_memory.database.self_repair import RepairingConnection
from vault_memory.errors import VaultError
from vault_memory.vault.write.journal_schema import STEPS
from vault_memory.vault.write.wait_reasons import Reason

logger = logging.getLogger(__name__)

FILE = "journal.sqlite"
RECORDED, GAP = "recorded:", "gap:"
GONE, RENAMED = "gone:", "renamed:"
"""Prefixes of states: since when a note is gone, and the path that it got last"""
FORGOTTEN = "forgotten:"
"""Prefix of a state's name, before a revision"""
SALVAGED = "salvaged"
"""Name of a state: the rows come from a damaged file, and the newest may be missing"""

LEVEL = 3
"""Of compression: higher ones cost several times as much and save little on notes"""
Statement = tuple[str, Sequence[object]]
"""SQL and its values"""
Phase = Literal["pending", "planned", "done"]
Side = Literal["ours", "theirs"]
By = Literal["person", "bot", "sync"]
"""Author of a version; ``sync`` brought it from the server"""
Outcome = Literal["", "written", "merged", "copied", "unchanged", "trashed"]


class JournalUnavailable(VaultError):
    """The journal cannot be written now, so no note was written."""

    http_status = 503

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the journal cannot be written: {reason}",
            hint="free some space on its disk and try again",
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """One write, from its request until its audit record is safe."""

    op_id: str
    path: str
    side: Side
    """Author of `content`: the bot, or a person who saved into a displaced file"""
    base: str | None
    """Revision the content was made from; None for a new note"""
    content: str
    """Revision of the new text as it was made from `base`; "" when the note goes to the trash"""
    since: float
    stamp: str
    """Date and time for the name of a conflict copy"""
    quiet: float = 0.0
    """Seconds for which no other program may have changed the note"""
    record: bytes = field(default=b"", repr=False)
    """Returned by `Writer.finished` when the write is done, e.g. an audit record"""
    entry: str = ""
    """The displaced file whose late text this is; "" for a write of ours"""
    phase: Phase = "pending"
    reason: Reason | Literal[""] = ""
    """Why it waits"""
    expected: str | None = None
    """Revision of the note that this attempt replaces"""
    fresh: str = ""
    """Revision that this attempt puts in place"""
    temp: str = ""
    """Name of the temporary of this attempt, in the folder of the note"""
    outcome: Outcome = ""
    after: str | None = None
    by: By = "bot"
    """Author that the history names"""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class DisplacedFile:
    """A file that a write displaced, and that an editor may still have open for writing."""

    place: str
    """Its present path in the vault"""
    path: str
    """Path of the note that it was"""
    incorporated: str
    """Revision of those of its bytes that the note contains"""
    since: float
    seen: str = ""
    """Revision at the last look"""
    seen_at: float = 0.0
    """When it first had that revision"""
    looks: int = 0
    next_look: float = 0.0
    is_stored: bool = False
    """Whether the bytes of `incorporated` are known to be stored; not a column"""


_WRITE_FIELDS = tuple(field.name for field in fields(PendingWrite))
_DISPLACED_FIELDS = tuple(field.name for field in fields(DisplacedFile))[:-1]
_WRITE_COLUMNS = ", ".join(_WRITE_FIELDS)
_DISPLACED_COLUMNS = ", ".join(_DISPLACED_FIELDS)
_PUT_WRITE = (
    f"INSERT OR REPLACE INTO ops({_WRITE_COLUMNS}) VALUES ({', '.join('?' * len(_WRITE_FIELDS))})"
)
_PUT_DISPLACED = (
    f"INSERT OR REPLACE INTO displaced({_DISPLACED_COLUMNS})"
    f" VALUES ({', '.join('?' * len(_DISPLACED_FIELDS))})"
)
_ALL_WRITES = f"SELECT {_WRITE_COLUMNS} FROM ops ORDER BY since, rowid"
_ALL_DISPLACED = f"""
    SELECT {_DISPLACED_COLUMNS},
    EXISTS (SELECT 1 FROM blobs WHERE revision = incorporated)
    FROM displaced ORDER BY since, place
"""
OPEN_PHASES = (
    "SELECT op_id, phase FROM ops WHERE phase != 'pending'"
    " UNION ALL SELECT name, name FROM state WHERE name = ?",
    (SALVAGED,),
)
"""The ids of the writes that were begun, with their phases; and `SALVAGED` if it is a state"""
_pack = partial(zlib.compress, level=LEVEL)
"""For SQL, so that only bytes that are not stored yet are compressed"""
_write_values = operator.attrgetter(*_WRITE_FIELDS)
_displaced_values = operator.attrgetter(*_DISPLACED_FIELDS)


class Backlog(NamedTuple):
    """The writes and the displaced files of the journal at one moment, the oldest first."""

    writes: list[PendingWrite]
    displaced: list[DisplacedFile]

    def write(self, op_id: str) -> PendingWrite | None:
        """Returns a write by its id."""
        return next((write for write in self.writes if write.op_id == op_id), None)

    def in_phase(self, phase: Phase) -> list[PendingWrite]:
        """Returns the writes in this phase."""
        return [write for write in self.writes if write.phase == phase]


class Journal:
    """The rows of the journal.

    Every change belongs within `transaction`, and is durable when that ends.
    """

    def __init__(self, connection: Connection | RepairingConnection) -> None:
        self.connection = connection
        self._changes: list[Statement] | None = None
        """Statements of the open transaction to execute; None between transactions"""
        if not isinstance(connection, RepairingConnection):
            _prepare(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commits all changes or none. Raises JournalUnavailable when they cannot be kept."""
        self._changes = [("BEGIN IMMEDIATE", ())]
        try:
            yield
            self._changes.append(("COMMIT", ()))
            self._execute_changes()
        except BaseException as error:
            # Fault (B39): SQLite rolls some errors back by itself, such as a full disk.
            # A second rollback would hide that error behind its own.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            if isinstance(error, DatabaseError):
                raise JournalUnavailable(str(error)) from None
            raise
        finally:
            self._changes = None

    def change(self, sql: str, values: Sequence[object] = ()) -> None:
        """Adds a statement to the transaction; it is executed with the others, in their order."""
        if self._changes is None:
            self.connection.execute(sql, values)
        else:
            self._changes.append((sql, values))

    def execute(self, sql: str, values: Sequence[object] = ()) -> Iterable[Any]:
        """Executes a statement, after the earlier changes of the transaction. Returns its rows."""
        if self._changes:
            self._execute_changes()
        return self.connection.execute(sql, values)

    def read_all(self, *statements: Statement) -> list[Iterable[Any]]:
        """Executes several statements as `execute` does. Returns the rows of each."""
        if self._changes:
            self._execute_changes()
        return [self.connection.execute(sql, values) for sql, values in statements]

    def first(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Executes a statement as `execute` does. Returns its first row, or None."""
        return next(iter(self.execute(sql, values)), None)

    def _execute_changes(self) -> None:
        changes, self._changes = self._changes or (), []
        if isinstance(self.connection, RepairingConnection):
            self.connection.execute_all(changes)
            return
        for sql, values in changes:
            self.connection.execute(sql, values)

    # --- Writes ---

    def put(self, write: PendingWrite) -> None:
        """Saves this state of a write."""
        self.change(_PUT_WRITE, _write_values(write))

    def op(self, op_id: str) -> PendingWrite | None:
        """Returns a write by its id."""
        return next(iter(self._select_writes("op_id = ?", op_id)), None)

    def ops(self, phase: Phase) -> list[PendingWrite]:
        """Returns all writes in this phase, the oldest first."""
        return self._select_writes("phase = ?", phase)

    def backlog(self) -> Backlog:
        """Returns all writes and displaced files."""
        writes, displaced = self.read_all((_ALL_WRITES, ()), (_ALL_DISPLACED, ()))
        return Backlog(
            [PendingWrite(*row) for row in writes], [DisplacedFile(*row) for row in displaced]
        )

    def remove(self, op_id: str) -> None:
        """Forgets a write."""
        self.change("DELETE FROM ops WHERE op_id = ?", (op_id,))

    def acknowledge(self, op_id: str, note: str) -> None:
        """Forgets a write whose record is safe in the audit of a note.

        The id of the last record of each note is kept: a restored backup of the audit lacks it.
        """
        if note:
            self.set_recorded(note, op_id)
        self.remove(op_id)

    def supersede(self, write: PendingWrite) -> None:
        """Drops the writes that were planned for earlier late text of the same displaced file."""
        self.change(
            # Fault (A5): an editor saves again before its first late text was merged.
            # The newer text has all of it, and merging both would bring back what the
            # second save removed.
            "DELETE FROM ops WHERE entry = ? AND entry != '' AND op_id != ? AND phase != 'done'",
            (write.entry, write.op_id),
        )

    def _select_writes(self, condition: str, value: str) -> list[PendingWrite]:
        rows = self.execute(
            f"SELECT {_WRITE_COLUMNS} FROM ops WHERE {condition} ORDER BY since, rowid", (value,)
        )
        return [PendingWrite(*row) for row in rows]

    # --- Records in the audit ---

    def recorded(self) -> dict[str, str]:
        """Returns the id of the last record that is safe in the audit of each note."""
        return self.states(RECORDED)

    def recorded_of(self, note: str) -> str:
        """Returns the id of the last safe record of one note, or ""."""
        return self.state(RECORDED + note) or ""

    def set_recorded(self, note: str, record_id: str) -> None:
        """Saves the id of the last safe record of a note."""
        self.set_state(RECORDED + note, record_id)

    def gaps(self) -> set[str]:
        """Returns the notes whose audit once lacked records."""
        return set(self.states(GAP))

    def set_gap(self, note: str, record_id: str) -> None:
        """Notes that the audit of a note lacks records up to this one."""
        self.set_state(GAP + note, record_id)

    def rename(self, old: str, new: str) -> None:
        """Gives what is known of the audit and the displaced files of a note to another path."""
        for start in (RECORDED, GAP):
            self.change(
                "INSERT OR REPLACE INTO state SELECT ?2, max(value) FROM state"
                " WHERE name IN (?1, ?2) GROUP BY 1"
                " HAVING EXISTS (SELECT 1 FROM state WHERE name = ?1)",
                (start + old, start + new),
            )
            self.change("DELETE FROM state WHERE name = ?", (start + old,))
        self.change("UPDATE displaced SET path = ? WHERE path = ?", (new, old))

    # --- Displaced files ---

    def displace(self, entry: DisplacedFile) -> None:
        """Saves this state of a displaced file."""
        self.change(_PUT_DISPLACED, _displaced_values(entry))

    def displaced(self) -> list[DisplacedFile]:
        """Returns all displaced files, the oldest first."""
        rows = self.execute(_ALL_DISPLACED)
        return [DisplacedFile(*row) for row in rows]

    def entry(self, place: str) -> DisplacedFile | None:
        """Returns a displaced file by its present path."""
        rows = self.execute(f"SELECT {_DISPLACED_COLUMNS} FROM displaced WHERE place = ?", (place,))
        return next((DisplacedFile(*row) for row in rows), None)

    def forget_displaced(self, place: str) -> None:
        """Forgets a displaced file."""
        self.change("DELETE FROM displaced WHERE place = ?", (place,))

    # --- The trash ---

    def throw_away(self, write: PendingWrite, now: float) -> None:
        """Adds the note of this write to the trash."""
        self.change(
            "INSERT OR IGNORE INTO trash VALUES (?, ?, ?, ?)",
            (write.op_id, write.path, write.base, now),
        )

    def threw_away(self, path: str, revision: str) -> bool:
        """Whether this version of a note is in the trash."""
        query = "SELECT 1 FROM trash WHERE path = ? AND revision = ?"
        return self.first(query, (path, revision)) is not None

    # --- Named values ---

    def state(self, name: str) -> str | None:
        """Returns the value of a name."""
        row = self.first("SELECT value FROM state WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    def set_state(self, name: str, value: str) -> None:
        """Saves the value of a name."""
        self.change("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))

    def states(self, start: str) -> dict[str, str]:
        """Returns the values whose names begin with `start`, by the rest of the name."""
        rows = self.execute("SELECT name, value FROM state WHERE name LIKE ?", (f"{start}%",))
        return {str(name).removeprefix(start): str(value) for name, value in rows}

    def drop_state(self, name: str) -> None:
        """Forgets the value of a name."""
        self.change("DELETE FROM state WHERE name = ?", (name,))

    def drop_states(self, start: str, before: str) -> None:
        """Forgets the values below `before` whose names begin with `start`."""
        self.change(
            "DELETE FROM state WHERE substr(name, 1, ?) = ? AND value < ?",
            (len(start), start, before),
        )

    def is_forgotten(self, revision: str) -> bool:
        """Whether the bytes of this revision are not kept because the user forgot them."""
        return self.state(FORGOTTEN + revision) is not None

    # --- Damage ---

    def is_salvaged(self) -> bool:
        """Whether the rows come from a damaged file, and `trust_again` was not called since."""
        return self.state(SALVAGED) is not None

    def trust_again(self) -> None:
        """Notes that the rows a damaged file may have lost are replaced."""
        with self.transaction():
            self.change("DELETE FROM state WHERE name = ?", (SALVAGED,))

    def repair(self, reason: str) -> None:
        """Copies the readable rows into a new file. Raises DatabaseError, OSError."""
        if isinstance(self.connection, RepairingConnection):
            self.connection.repair(reason)

    def close(self) -> None:
        """Closes the database."""
        self.connection.close()


def open_journal(folder: Path) -> Journal:
    """Opens the journal in this folder, which becomes private. Raises OSError, DatabaseError.

    Whenever its file turns out to be damaged, the readable rows are copied into a new file, and
    the damaged one is kept under another name.
    """
    # Fault: the journal has the text of every note. Other users of the computer must
    # not read it.
    places.make_private(folder)
    connection = RepairingConnection(folder / FILE, _prepare, _salvage)
    journal = Journal(connection)
    if journal.ops("planned"):
        # Fault (B45): SQLite has no checksums. Recovery must not finish an interrupted
        # write from damaged rows.
        verdict = connection.pragma("quick_check")
        if verdict != "ok":
            connection.repair(str(verdict))
    return journal


def _prepare(connection: Connection) -> None:
    # Fault: a forgotten text must not remain in free pages of the file.
    connection.pragma("secure_delete", True)
    connection.create_scalar_function("pack", _pack, 1, deterministic=True)
    if migrate(connection, [statements(text) for text in STEPS]) == 1:
        # The last step leaves the pages of the earlier table free.
        compact(connection)


def _salvage(damaged: Path, connection: Connection) -> None:
    """Copies the readable rows. Drops and names each write whose text is lost."""
    checks = {"blobs": _is_complete_blob, "ops": _is_write}
    counts = salvage.salvage(damaged, connection, checks)
    lost = connection.execute(
        "SELECT op_id, path FROM ops WHERE phase != 'done' AND content != ''"
        " AND content NOT IN (SELECT revision FROM blobs)"
    ).fetchall()
    # Fault (B45): the text of such a write is nowhere any more. It is dropped, and its
    # note is named.
    connection.executemany("DELETE FROM ops WHERE op_id = ?", [(op_id,) for op_id, _ in lost])
    # Fault: an entry of the trash without bytes would restore an empty note.
    connection.execute("DELETE FROM trash WHERE revision NOT IN (SELECT revision FROM blobs)")
    connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (SALVAGED, damaged.name))
    logger.warning(
        "a damaged journal was read: %d versions, %d texts, %d writes, %d notes in the trash",
        counts["versions"],
        counts["blobs"],
        counts["ops"] - len(lost),
        counts["trash"],
    )
    for path in sorted({str(path) for _, path in lost}):
        logger.warning("a write to `%s` that waited is lost; ask for it again", path)


def _is_complete_blob(row: Mapping[str, object]) -> bool:
    """Whether the bytes of a row match its revision; SQLite keeps no checksums of its pages."""
    packed = row["packed"]
    if not isinstance(packed, bytes):
        return False
    try:
        return sha256(zlib.decompress(packed)).hexdigest() == row["revision"]
    except zlib.error:
        return False


def _is_write(row: Mapping[str, object]) -> bool:
    has_phase = row["phase"] in ("pending", "planned", "done")
    return has_phase and row["side"] in ("ours", "theirs")
