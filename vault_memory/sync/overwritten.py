"""Texts that a write of ours replaced on the server before anybody here had seen them: they lie in its versions.

Two writes can pass one precondition at once, and a second write in a second, or with the time of the first, leaves
the tag as it was. Where the server keeps versions, they tell; what is found there becomes the other side's edit.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from vault_memory.errors import VaultError
from vault_memory.markdown import merge
from vault_memory.remote import (
    Earlier,
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteLocked,
    RemoteMissing,
    Stored,
)
from vault_memory.sync.brakes import stamp
from vault_memory.sync.done import Done
from vault_memory.sync.names import beside
from vault_memory.sync.sides import RECORDS, TEXT, Again, Sides
from vault_memory.sync.trees import BaseFile
from vault_memory.vault import Note, merge_records, nearest, revision_of

FEW = 3
"""So many short overwrites of a pass are looked behind even when nothing speaks for another writer"""
SHORT = 16_384
"""Bytes; longer ones are moved into place under a condition, which leaves less room for two at once"""
DEEPEST = 6
"""Versions on the server that are looked at"""
OLDER = 60
"""Versions here that the other one may have started from"""
GIVE_UP_SECONDS = 24 * 3600.0
_FACT = "overwrote "
JOINED = "another program wrote it on the server at the same moment as this device; both texts are in it now"
ASIDE = "another program wrote it on the server at the same moment as this device; what that was is `{copy}`"
LEFT = "this device wrote over a text that another program had just stored; it lies in the server's versions"
UNTOLD = (
    "another program wrote it on the server at the same moment as this device. The two are merged; the server keeps "
    "no earlier versions, so nobody can tell whether a third text was lost"
)


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A write of ours over a file whose bytes we believed to know."""

    path: str
    fileid: str
    base: str
    """the hash of what we believed to replace"""
    size: int
    modified: int
    """of that, as last listed; 0 when that is not known"""
    ours: str
    ours_size: int
    young: bool
    """whether something speaks for another writer: then nothing is taken for known by its size and time"""
    at: float
    writes: tuple[tuple[str, str], ...] = ()
    """when there were several, those of us between the two, the newest first: what each wrote, and over what"""


class Overwritten:
    """For one vault and one remote."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def suspects(self, now: datetime) -> frozenset[str]:
        """Paths whose tags other bytes may stand behind, and those that somebody else has just written."""
        rewrites = self._sides.book.rewrites(now.timestamp())
        return self._sides.book.racy() | self._sides.young | {one.path for one in rewrites if one.by == "them"}

    def remember(self, was: BaseFile, stored: Stored, path: str, raw: bytes, now: datetime, *, young: bool) -> None:
        """A write has replaced what `was` there; before it is recorded as agreed on."""
        if not self._sides.remote.traits.versions:
            return
        known = self._sides.book.last_seen(path)
        size, modified = (known.size, known.modified) if known and known.etag == was.tag else (-1, 0)
        made = Overwrite(
            path, stored.fileid or was.remote_id, was.hash, size, modified,
            revision_of(raw), len(raw), young, now.timestamp(),
        )  # fmt: skip
        before = self._sides.book.said(_FACT + path)
        if isinstance(before, dict) and path.endswith((*TEXT, *RECORDS)):  # not yet looked behind: both at once
            first = {name: before[name] for name in ("base", "size", "modified", "at")}
            older = before.get("writes") or [(before["ours"], before["base"])]
            made = replace(made, young=True, writes=((made.ours, made.base), *map(tuple, older)), **first)
        self._sides.book.say(_FACT + path, asdict(made))

    def search(self, done: Done, now: datetime) -> None:
        """Look behind all writes of which it is not known yet what they replaced."""
        for name, fact in self._sides.book.facts(_FACT).items():
            one = Overwrite(**fact)
            try:
                self._look(one, done, now)
            except Again:
                done.again.add(one.path)
                continue
            except (RemoteLocked, RemoteBusy, NotUnderstood) as error:
                if getattr(error, "everywhere", False):
                    raise
                if now.timestamp() - one.at < GIVE_UP_SECONDS:
                    done.again.add(one.path)
                    continue
            except (RemoteMissing, Refused):
                pass
            except (VaultError, OSError) as error:
                done.failed[one.path] = str(error)
                continue
            with self._sides.book.writing():
                self._sides.book.unsay(name)

    def _look(self, one: Overwrite, done: Done, now: datetime) -> None:
        versions = self._sides.remote.versions(one.path, fileid=one.fileid)
        unseen = self._unseen(one, versions[:DEEPEST])
        if unseen and not self._sides.writes_here:
            done.notes.append((one.path, LEFT))
        elif unseen and one.path.endswith((*TEXT, *RECORDS)):
            note = self._sides.local.read(one.path)
            if isinstance(note, Note):
                self._join(one, note, unseen, done, now)
                return
            self._aside(one, unseen, done, now)
        elif unseen:
            self._aside(one, unseen, done, now)

    def _unseen(self, one: Overwrite, versions: Sequence[Earlier]) -> list[bytes]:
        """What lay between the text that we replaced and ours and was never here, the oldest first."""
        seen, writes = self._seen(one), list(one.writes or [(one.ours, one.base)])
        found: list[bytes] = []
        below: str | None = ""
        """over what the write of ours wrote below which this is; None between two of them, where others wrote"""
        for number, version in enumerate(versions):
            if one.modified and version.modified < one.modified:
                return found
            if not one.young and number == 0 and version.size == one.ours_size:
                continue
            if not one.young and (version.size, version.modified) == (one.size, one.modified):
                return found
            raw = self._sides.remote.get_version(one.path, version, max_bytes=self._sides.largest)
            revision = revision_of(raw)
            if revision == one.base:
                return found
            at = next((at for at, (ours, _) in enumerate(writes) if ours == revision), None)
            if at is not None:
                if below == "":
                    found.clear()  # what came after it is met as any other edit
                below = writes[at][1]
                del writes[: at + 1]
            elif revision == below:
                below = None
            elif below is not None and revision not in seen:
                found.insert(0, raw)
        return found if one.modified else []  # where the time is not known, what we replaced shows how far to go

    def _seen(self, one: Overwrite) -> set[str]:
        with self._sides.writing() as writer:
            return {version.revision for version in writer.snapshots.chain(one.path)}

    def _join(self, one: Overwrite, note: Note, unseen: Sequence[bytes], done: Done, now: datetime) -> None:
        """All in one, here; it goes up with the next pass."""
        joined = note.raw
        for its in unseen:
            whole = self._joined(one, joined, its, now)
            if whole is None:
                self._aside(one, unseen, done, now)
                return
            joined = whole
        if joined != note.raw and self._sides.put(one.path, joined, note.revision, now) == "copied":
            raise Again
        for its in unseen:
            self._sides.keep(one.path, its, now, by="sync")
        self._sides.keep(one.path, joined, now)
        done.merged.append(one.path)
        done.acted += 1
        done.notes.append((one.path, JOINED))

    def _joined(self, one: Overwrite, mine: bytes, its: bytes, now: datetime) -> bytes | None:
        """Two texts in one. Some clients ask for no precondition: then theirs may start from an older version."""
        if one.path.endswith(RECORDS):
            return merge_records([mine, its])
        with self._sides.writing() as writer:
            snapshots = writer.snapshots
            older = dict.fromkeys(
                version.revision for version in snapshots.chain(one.path) if version.revision != one.ours
            )
            texts = {revision: snapshots.bytes_of(revision) or b"" for revision in (one.base, *list(older)[:OLDER])}
        start = nearest(its, texts.items()) or one.base
        return merge(texts[start], mine, its, between_people=True, date=f"{now:%Y-%m-%d}").result

    def _aside(self, one: Overwrite, unseen: Sequence[bytes], done: Done, now: datetime) -> None:
        for its in unseen:
            taken = {*self._sides.book.hashes(), *self._sides.book.base(), *done.conflicts}
            copy = beside(one.path, f"memory copy {stamp(now, None)} server", taken)
            if self._sides.put(copy, its, None, now) == "copied":
                raise Again
            done.conflicts.append(copy)
            done.acted += 1
            done.notes.append((one.path, ASIDE.format(copy=copy)))
