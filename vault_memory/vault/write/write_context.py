"""Dependencies and shared steps of the write protocol."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import Snapshots, Version
from vault_memory.vault.write.journal import DisplacedFile, Journal, Outcome, PendingWrite
from vault_memory.vault.write.loaded_note import LoadedNote
from vault_memory.vault.write.preconditions import CurrentFile, read_live
from vault_memory.vault.write.wait_reasons import Reason

Merge = Callable[[bytes | None, bytes, bytes], bytes | None]
"""(base, ours, theirs) → a text that contains what either side has; None when that is impossible.
``theirs`` is a person's."""

Barred = Callable[[str, float], Reason | Literal[""]]
"""(path, now) → why nothing may be written to this vault now, or "" """


def never(path: str, now: float) -> Literal[""]:
    """Bars no write: for a vault that no other device edits."""
    return ""


class RenamedNotes(NamedTuple):
    """Notes that have new paths, and what the journal shall have of them."""

    moves: Sequence[tuple[str, str]]
    """old and new path, in the order in which they are carried out"""
    writes: Sequence[PendingWrite]
    """the writes that wait for these notes, with their new paths"""
    state: tuple[str, str]
    """name and value that are saved in the same step"""


@dataclass(slots=True)
class WriteContext:
    """The dependencies of the writes to one vault."""

    files: Files
    journal: Journal
    snapshots: Snapshots
    token: Callable[[], str]
    """Returns unpredictable text for the names of temporaries"""
    barred: Barred = never
    """Asked before each write of ours; late text of a person is brought in anyway"""
    purged: set[str] = field(default_factory=set)
    """Displaced files that were removed. The journal knows them until their folder is synced."""
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Op ids that the next commit forgets, each with the note whose audit has its record"""
    new_displaced: dict[str, DisplacedFile] = field(default_factory=dict)
    """Place → displaced file to look at now, since the journal's rows were read"""
    has_new_saves: bool = False
    """Whether a write since the last question may have met a save that is not judged yet"""
    done: list[PendingWrite] = field(default_factory=list)
    """Writes with a record that are done since the journal's rows were read"""
    written: dict[str, LoadedNote] = field(default_factory=dict)
    """Op id → note as this write made it, until `Writer.written` returns it"""
    inodes: dict[str, int] = field(default_factory=dict)
    """Op id → inode of the file that this write put in place, until its version is stored"""
    _uncommitted: list[DisplacedFile] = field(default_factory=list)
    """Displaced files to look at as soon as the journal has them: a crash must not forget them"""
    _forgettable: set[str] = field(default_factory=set)
    """Members of `purged` whose folder is synced"""
    _staged: dict[str, bytes] = field(default_factory=dict)
    """Op id → text that is not in the journal yet"""
    _loaded: dict[str, LoadedNote] = field(default_factory=dict)
    """Op id → note as the caller read it, for the first attempt of the write"""

    def stage_content(self, op_id: str, raw: bytes) -> None:
        """Remembers the text of a write that is not in the journal yet."""
        self._staged[op_id] = raw

    def stage_loaded(self, op_id: str, loaded: LoadedNote) -> None:
        """Remembers the note as the caller of a write has just read it."""
        self._loaded[op_id] = loaded

    def current(
        self, folder: int, write: PendingWrite
    ) -> tuple[CurrentFile | Reason | None, Version | None]:
        """Returns the note of a write and its newest version that was seen.

        Reads both, unless the file is still the one that the caller read.
        """
        loaded = self._loaded.pop(write.op_id, None)
        file = loaded.file if loaded else None
        # Fault (A1): an editor may have saved since the caller's read.
        is_same = file is not None and self.files.look(folder, write.name) == file.info
        if is_same and loaded is not None:
            return file, loaded.head
        live = read_live(self.files, folder, write.name)
        return live, self.snapshots.head(write.path)

    def content(self, write: PendingWrite) -> bytes:
        """Returns the text of a write."""
        raw = self._staged.get(write.op_id)
        if raw is None:
            raw = self.snapshots.bytes_of(write.content)
        assert raw is not None, "the text of a write is kept as long as the write"
        return raw

    def synced(self, folder_path: str) -> None:
        """Notes that a folder was synced: files removed from it before cannot come back."""
        self._forgettable |= {
            place for place in self.purged if place.rpartition("/")[0] == folder_path
        }

    def plan(
        self, write: PendingWrite, live: CurrentFile | None, new: bytes | None
    ) -> PendingWrite:
        """Journals an attempt with all its bytes, before its first trace in the vault.

        A crash in the attempt can then be recovered, and the replaced text is safe.
        """
        expected = live.revision if live else None
        write = replace(write, phase="planned", reason="", expected=expected)
        with self._transaction():
            self.journal.supersede(write)
            self._keep_content(write)
            if live is not None:
                self.snapshots.keep(live.raw, live.revision)
            new_revision = "" if new is None else self.snapshots.keep(new)
            write = replace(write, fresh=new_revision)
            self.journal.put(write)
        self._staged.pop(write.op_id, None)
        return write

    def postpone(self, write: PendingWrite, reason: Reason | Literal[""]) -> PendingWrite:
        """Makes a write wait."""
        self._loaded.pop(write.op_id, None)
        waiting = replace(write, phase="pending", reason=reason)
        # A write that waits for minutes is tried often: the same state needs no new commit.
        if waiting == self.journal.op(write.op_id):
            return waiting
        with self._transaction():
            self.journal.supersede(write)
            self._keep_content(write)
            self.journal.put(waiting)
        self._staged.pop(write.op_id, None)
        return waiting

    def finish(
        self,
        write: PendingWrite,
        outcome: Outcome,
        now: float,
        *,
        after: str | None,
        displaced: str | None = None,
    ) -> PendingWrite:
        """Records a write as done, and watches the file that it displaced."""
        write = replace(write, phase="done", reason="", outcome=outcome, after=after)
        with self._transaction():
            self._keep_content(write)
            self._extend_chain(write, after, now)
            if displaced is not None:
                self.displace(write, displaced, now)
            if outcome == "trashed":
                self.journal.throw_away(write, now)
            if write.entry and (entry := self.journal.entry(write.entry)):
                self._watch_now(replace(entry, incorporated=write.content), now)
            # Fault (B33): the row remains until the audit has its record. A crash must
            # not lose the record.
            if write.record:
                self.journal.put(write)
            else:
                self.journal.remove(write.op_id)
        self._staged.pop(write.op_id, None)
        self.has_new_saves |= outcome != "written"
        if write.record:
            self.done.append(write)
        return write

    def _extend_chain(self, write: PendingWrite, after: str | None, now: float) -> None:
        """Adds the versions that this write replaced and made to the note's history.

        This waits until the write is done: a version that it met may be merged away unseen.
        """
        replaced = (write.expected, write.content if write.entry else None)
        for revision in replaced:
            if revision is not None:
                self.snapshots.add(write.path, revision, at=now, by="person", kept=True)
        if after is not None:
            self.snapshots.add(write.path, after, at=now, by=write.by, kept=True)
            ino = self.inodes.pop(write.op_id, 0)
            self.snapshots.note_file(write.path, after, ino)

    def displace(
        self, write: PendingWrite, name: str, now: float, revision: str | None = None
    ) -> None:
        """Watches a file that had the note's name; call it within a transaction.

        `revision` are the bytes that the file had, if not those of the note that was replaced.
        Where no note existed, the file is a second name of ours, and an editor wrote through it.
        """
        revision = revision or write.expected or write.fresh
        assert revision
        place = f"{write.folder}/{name}" if write.folder else name
        self._watch_now(DisplacedFile(place, write.path, revision, since=now), now)

    def watch(self, write: PendingWrite, name: str, now: float) -> None:
        """Watches a file that lost the note's name although nothing was put in its place.

        Its version stays in the history.
        """
        self.has_new_saves = True
        with self._transaction():
            self.displace(write, name, now)
            chain = self.snapshots.chain(write.path)
            revisions = {version.revision for version in chain}
            if write.expected is not None and write.expected not in revisions:
                self.snapshots.add(write.path, write.expected, at=now, by="person", kept=True)

    def watch_ours(self, write: PendingWrite, name: str, now: float) -> None:
        """Watches a file of ours that had the note's name, and that an editor wrote into."""
        with self._transaction():
            self.displace(write, name, now, write.fresh)

    def put_off(self, entry: DisplacedFile) -> None:
        """Saves when to look at a displaced file again."""
        with self.journal.transaction():
            self.journal.displace(entry)

    def incorporated(self, entry: DisplacedFile, raw: bytes, now: float) -> None:
        """Records that the note contains everything of these bytes."""
        with self._transaction():
            revision = self.snapshots.keep(raw)
            self._watch_now(replace(entry, incorporated=revision), now)

    def _watch_now(self, entry: DisplacedFile, now: float) -> None:
        """Saves a displaced file that has to be looked at now; its bytes are stored."""
        entry = replace(entry, next_look=now, is_stored=True)
        self.journal.displace(entry)
        self._uncommitted.append(entry)

    def rename(self, renamed: RenamedNotes) -> None:
        """Gives the rows of notes to their new paths."""
        with self._transaction():
            for old, new in renamed.moves:
                self.snapshots.rename(old, new)
                self.journal.rename(old, new)
            for write in renamed.writes:
                self.journal.put(write)
            self.journal.set_state(*renamed.state)

    def flush(self) -> None:
        """Forgets acknowledged writes and removed files, if there are any."""
        if self._forgettable or self.acknowledged:
            with self._transaction():
                pass

    def _keep_content(self, write: PendingWrite) -> None:
        raw = self._staged.get(write.op_id)
        if raw is not None:
            self.snapshots.keep(raw, write.content)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Makes one commit, which also forgets what may be forgotten: a commit costs a sync."""
        self._uncommitted.clear()
        places = set(self._forgettable)
        acknowledged = dict(self.acknowledged)
        with self.journal.transaction():
            for place in places:
                self.journal.forget_displaced(place)
            for op_id, note in acknowledged.items():
                self.journal.acknowledge(op_id, note)
            yield
        # Fault (B33): before the commit, a crash would forget these files. So they are
        # looked at only afterwards.
        for entry in self._uncommitted:
            self.new_displaced[entry.place] = entry
        self._forgettable -= places
        self.purged -= places
        for op_id in acknowledged:
            self.acknowledged.pop(op_id, None)
