"""What writes are done with (the calls, the journal, the snapshots), and the steps that several of them share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import Snapshots
from vault_memory.vault.write.journal import (
    DisplacedFile,
    Journal,
    Outcome,
    PendingWrite,
)
from vault_memory.vault.write.preconditions import CurrentFile
from vault_memory.vault.write.wait_reasons import Reason

Merge = Callable[[bytes | None, bytes, bytes], bytes | None]
"""(base, ours, theirs) → a text that holds what either side has; None when that cannot be. ``theirs`` is a person's."""

Barred = Callable[[str, float], Reason | Literal[""]]
"""(path, now) → why nothing may be written to this vault now, or "" """


def never(path: str, now: float) -> Literal[""]:
    """Nobody else writes to the vault."""
    return ""


@dataclass(slots=True)
class WriteContext:
    """For one vault."""

    files: Files
    journal: Journal
    snapshots: Snapshots
    token: Callable[[], str]
    """Gives names for temporaries that nobody can guess."""
    barred: Barred = never
    """Asked before each write of ours; what a person saved late is brought in anyway."""
    purged: set[str] = field(default_factory=set)
    """Displaced files that were taken away, their folder perhaps not yet synced: the journal still knows of them."""
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Ops that the journal may forget at the next occasion, each with the note whose audit has its record."""
    _forgettable: set[str] = field(default_factory=set)
    _known: dict[str, bytes] = field(default_factory=dict)

    def stage_content(self, op_id: str, raw: bytes) -> None:
        """The text of an op that is not yet in the journal."""
        self._known[op_id] = raw

    def content(self, op: PendingWrite) -> bytes:
        """The text of an op."""
        raw = self._known.get(op.op_id)
        if raw is None:
            raw = self.snapshots.bytes_of(op.content)
        assert raw is not None, "the text of an op is kept as long as the op"
        return raw

    def synced(self, folder_path: str) -> None:
        """A folder was synced: what was taken away from it before stays away."""
        gone = {
            place for place in self.purged if place.rpartition("/")[0] == folder_path
        }
        self._forgettable |= gone

    def plan(
        self, op: PendingWrite, live: CurrentFile | None, fresh: bytes | None
    ) -> PendingWrite:
        """Keep what this attempt is about to do, and all the bytes that it is about, before its first trace."""
        op = replace(
            op, phase="planned", reason="", expected=live.revision if live else None
        )
        with self._transaction():
            self.journal.supersede(op)
            self._keep_content(op)
            if live is not None:
                self.snapshots.keep(live.raw, live.revision)
            op = replace(
                op, fresh=self.snapshots.keep(fresh) if fresh is not None else ""
            )
            self.journal.put(op)
        self._known.pop(op.op_id, None)
        return op

    def postpone(self, op: PendingWrite, reason: Reason | Literal[""]) -> PendingWrite:
        """The op waits."""
        waiting = replace(op, phase="pending", reason=reason)
        if waiting == self.journal.op(op.op_id):
            return waiting
        with self._transaction():
            self.journal.supersede(op)
            self._keep_content(op)
            self.journal.put(waiting)
        self._known.pop(op.op_id, None)
        return waiting

    def finish(
        self,
        op: PendingWrite,
        outcome: Outcome,
        now: float,
        *,
        after: str | None,
        displaced: str | None = None,
    ) -> PendingWrite:
        """The op is done; what it displaced is watched from now on."""
        op = replace(op, phase="done", reason="", outcome=outcome, after=after)
        with self._transaction():
            self._keep_content(op)
            self._chain_on(op, after, now)
            if displaced is not None:
                self.displace(op, displaced, now)
            if outcome == "trashed":
                self.journal.throw_away(op, now)
            if op.entry and (entry := self.journal.entry(op.entry)):
                self.journal.displace(
                    replace(entry, incorporated=op.content, next_look=now)
                )
            if op.record:
                self.journal.put(op)
            else:
                self.journal.remove(op.op_id)
        self._known.pop(op.op_id, None)
        return op

    def _chain_on(self, op: PendingWrite, after: str | None, now: float) -> None:
        """The versions that this op met and made. Not before it is done: what it meets may be merged away unseen."""
        for revision in (op.expected, op.content if op.entry else None):
            if revision is not None and self.snapshots.knows(revision):
                self.snapshots.add(op.path, revision, at=now, by="person", kept=True)
        if after is not None and self.snapshots.knows(after):
            self.snapshots.add(op.path, after, at=now, by=op.by, kept=True)

    def displace(
        self, op: PendingWrite, name: str, now: float, known: str | None = None
    ) -> None:
        """Watch a file that had the note's name; within a transaction. `known` are the bytes it had, if not those of
        the note that was met.

        Where there was no note it is a second name of ours, through the first of which somebody has written.
        """
        known = known or op.expected or op.fresh
        assert known
        place = f"{op.folder}/{name}" if op.folder else name
        self.journal.displace(
            DisplacedFile(place, op.path, known, since=now, next_look=now)
        )

    def watch(self, op: PendingWrite, name: str, now: float) -> None:
        """Watch a file that lost the note's name although nothing was put there: it stays in the history."""
        with self._transaction():
            self.displace(op, name, now)
            chain = self.snapshots.chain(op.path)
            if op.expected is not None and all(
                version.revision != op.expected for version in chain
            ):
                self.snapshots.add(op.path, op.expected, at=now, by="person", kept=True)

    def watch_ours(self, op: PendingWrite, name: str, now: float) -> None:
        """Watch a file of ours that had the note's name, into which somebody has written."""
        with self._transaction():
            self.displace(op, name, now, op.fresh)

    def put_off(self, entry: DisplacedFile) -> None:
        """Look at a displaced file later."""
        with self.journal.transaction():
            self.journal.displace(entry)

    def incorporated(self, entry: DisplacedFile, raw: bytes, now: float) -> None:
        """Nothing of these bytes is missing in the note."""
        with self.journal.transaction():
            revision = self.snapshots.keep(raw)
            self.journal.displace(replace(entry, incorporated=revision, next_look=now))

    def flush(self) -> None:
        """Forget what may be forgotten."""
        if self._forgettable or self.acknowledged:
            with self._transaction():
                pass

    def _keep_content(self, op: PendingWrite) -> None:
        if (raw := self._known.get(op.op_id)) is not None:
            self.snapshots.keep(raw, op.content)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One commit, which also drops what may be forgotten."""
        places, done = set(self._forgettable), dict(self.acknowledged)
        with self.journal.transaction():
            for place in places:
                self.journal.forget_displaced(place)
            for op_id, note in done.items():
                self.journal.acknowledge(op_id, note)
            yield
        self._forgettable -= places
        self.purged -= places
        for op_id in done:
            self.acknowledged.pop(op_id, None)
