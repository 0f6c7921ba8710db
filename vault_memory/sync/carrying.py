"""Files that travel, are merged, deleted, or kept twice. What an action rests on is looked at again first."""

import secrets
from datetime import datetime

from vault_memory.markdown import merge
from vault_memory.remote import Fetched, Stored
from vault_memory.sync.actions import Download, KeepBoth, Merge, TrashLocal
from vault_memory.sync.book import Sent
from vault_memory.sync.done import Done
from vault_memory.sync.overwritten import Overwritten
from vault_memory.sync.sides import RECORDS, TEXT, Again, Sides
from vault_memory.sync.trees import BaseFile
from vault_memory.vault import merge_records, nearest, revision_of

VERSIONS = 60
"""How many earlier versions may have been what the other side started from"""


class Carrying:
    """For one vault and one remote."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._overwritten = Overwritten(sides)

    def download(self, action: Download, done: Done, now: datetime) -> None:
        fetched = self._sides.fetch(action.path, now)
        if (joined := self._overtaken(action, fetched.raw, now)) is not None:
            self._swap_in(action, joined, fetched, done, now)
            return
        if self._sides.put(action.path, fetched.raw, action.hash, now) == "copied":
            done.conflicts.append(action.path)
            raise Again
        with self._sides.book.writing():
            self._sides.agree(action.path, fetched.raw, _as_stored(fetched))
            self._sides.rewrote(action.path, "them", now)
        done.downloaded.append(action.path)

    def _overtaken(self, action: Download, its: bytes, now: datetime) -> bytes | None:
        """Both texts in one, where somebody wrote over what we uploaded just now without having seen it.

        Two writes can pass one precondition at once, and some clients send none: then theirs starts from an older
        version than ours. One that is just as it was then has been put back on purpose.
        """
        was = self._sides.book.agreed(action.path)
        if not (isinstance(was, BaseFile) and was.hash == action.hash and action.path.endswith(TEXT)):
            return None
        if not self._sides.book.uploaded_lately(action.path, now.timestamp()):
            return None
        with self._sides.writing() as writer:
            snapshots = writer.snapshots
            revisions = dict.fromkeys(one.revision for one in snapshots.chain(action.path)[: VERSIONS + 1])
            texts = {revision: snapshots.bytes_of(revision) or b"" for revision in revisions}
        start = nearest(its, texts.items())
        if start in (None, was.hash) or revision_of(its) in texts or was.hash not in texts:
            return None
        date = f"{now:%Y-%m-%d}"
        return merge(texts[start or ""], texts[was.hash], its, between_people=True, date=date).result

    def _swap_in(self, action: Download, joined: bytes, fetched: Fetched, done: Done, now: datetime) -> None:
        """What both wrote stands here now; it goes up with the next pass."""
        self._sides.keep(action.path, fetched.raw, now, by="sync")
        if self._sides.put(action.path, joined, action.hash, now) == "copied":
            raise Again
        with self._sides.book.writing():
            self._sides.agree(action.path, fetched.raw, _as_stored(fetched))
            self._sides.rewrote(action.path, "them", now)
        done.merged.append(action.path)

    def merge(self, action: Merge, done: Done, now: datetime) -> None:
        young = action.path in self._overwritten.suspects(now)
        note = self._sides.read(action.path, action.hash)
        fetched = self._sides.fetch(action.path, now)
        self._sides.keep(action.path, note.raw, now)
        if fetched.raw == note.raw:
            self._sides.agree(action.path, note.raw, _as_stored(fetched))
            return
        joined = self._joined(action, note.raw, fetched.raw, now)
        if joined is None:
            self._part(action, fetched, done, now)
            return
        self._sides.keep(action.path, fetched.raw, now, by="sync")
        self._sides.keep(action.path, note.raw, now)
        if joined != note.raw and self._sides.put(action.path, joined, action.hash, now) == "copied":
            raise Again
        self._sides.agree(action.path, fetched.raw, _as_stored(fetched))
        self._sides.rewrote(action.path, "them", now)
        if joined != fetched.raw and action.upload:
            if not fetched.confirmed:
                raise Again
            with self._sides.book.writing():
                self._sides.book.send([Sent(action.path, revision_of(joined), len(joined), fetched.etag)])
            stored = self._sides.remote.put(action.path, joined, expected=fetched.etag)
            if young and isinstance(was := self._sides.book.agreed(action.path), BaseFile):
                with self._sides.book.writing():
                    self._overwritten.remember(was, stored, action.path, joined, now, young=True)
            self._sides.agree(action.path, joined, stored)
        done.merged.append(action.path)

    def _part(self, action: Merge, fetched: Fetched, done: Done, now: datetime) -> None:
        """Two texts that cannot become one: the server's keeps the name, the local one lies beside it."""
        self._sides.disk.rename(action.path, action.copy, hashed=action.hash)
        done.conflicts.append(action.copy)
        done.notes.append((action.path, f"it was changed on both sides; what was here is `{action.copy}`"))
        self._sides.put(action.path, fetched.raw, None, now)
        self._sides.agree(action.path, fetched.raw, _as_stored(fetched))

    def _joined(self, action: Merge, mine: bytes, its: bytes, now: datetime) -> bytes | None:
        """One text out of two, or None where that cannot be."""
        if action.path.endswith(RECORDS):
            return merge_records([mine, its])
        if not action.path.endswith(TEXT):
            return None
        with self._sides.writing() as writer:
            snapshots = writer.snapshots
            base = snapshots.bytes_of(action.base)
            if base is None:
                chain = snapshots.chain(action.path)[1 : VERSIONS + 1]
                texts = {one.revision: snapshots.bytes_of(one.revision) or b"" for one in chain}
                same = revision_of(its) if revision_of(its) in texts and not self._lay_elsewhere(action, its) else ""
                base = texts.get(same or (nearest(its, texts.items()) if action.base else "") or "")
        return merge(base, mine, its, between_people=True, date=f"{now:%Y-%m-%d}").result

    def _lay_elsewhere(self, action: Merge, its: bytes) -> bool:
        """Whether the server's text is that of a note with another name: it came here and is no version of this one."""
        revision, base = revision_of(its), self._sides.book.base()
        return any(
            path != action.path and isinstance(was, BaseFile) and was.hash == revision for path, was in base.items()
        )

    def trash(self, action: TrashLocal, now: datetime) -> None:
        self._sides.read(action.path, action.hash)
        with self._sides.writing() as writer:
            written = writer.trash(action.path, expected=action.hash, now=now, op_id=f"sync-{secrets.token_hex(8)}")
            if written.outcome == "pending":
                writer.discard(written.op_id)
                raise Again
        if written.outcome != "trashed":
            raise Again
        self._sides.forget(action.path)

    def keep_both(self, action: KeepBoth, done: Done, now: datetime) -> None:
        if action.side == "local":
            self._sides.disk.rename(action.path, action.copy, hashed=action.hash)
        else:
            self._sides.remote.move(action.path, action.copy, expected=action.tag or None)
        with self._sides.book.writing():
            if isinstance(self._sides.book.agreed(action.path), BaseFile):
                self._sides.book.forget(action.path)
            self._sides.book.drop_entry(action.path)
        done.conflicts.append(action.copy)


def _as_stored(fetched: Fetched) -> Stored:
    return Stored(fetched.etag, confirmed=fetched.confirmed)
