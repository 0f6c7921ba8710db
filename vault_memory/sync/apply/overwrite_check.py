"""Texts that a write of ours replaced on the server before anybody here had seen them: they lie in its versions.

Two writes can pass one precondition at once, and a second write in a second, or with the time of the first, leaves
the tag as it was. Where the server keeps versions, they tell; what is found there becomes the other side's edit.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime

from vault_memory.errors import VaultError
from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Fetched, FileVersion, PutResult
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.apply.known_versions import KnownVersions
from vault_memory.sync.apply.own_writes import (
    NOTHING,
    Overwrite,
    before_ours,
    short_size,
)
from vault_memory.sync.apply.progress import LOOKED_AT_AGAIN, PassResult
from vault_memory.sync.apply.session import (
    RECORDS,
    SHORT,
    TEXT,
    ActionOutdated,
    SyncSession,
)
from vault_memory.sync.apply.unproven_uploads import UNNOTICED_SECONDS, Delivery
from vault_memory.sync.apply.unseen_texts import OLDER, OVERWROTE, UnseenTexts
from vault_memory.sync.plan.awareness import join_records
from vault_memory.sync.plan.name_clashes import beside
from vault_memory.sync.plan.safety_limits import stamp
from vault_memory.sync.trees import BaseFile
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.version_distance import nearest

MOST_RECENT = 6
"""So many versions are read to find out whether a device wrote upon our text; if there are more, it counts as not"""
GIVE_UP_SECONDS = 24 * 3600.0
REST_SECONDS = 600.0
"""So long no other write goes over one that cannot be looked behind"""
JOINED = "another program wrote it on the server at the same moment as this device; both texts are in it now"
ASIDE = "another program wrote it on the server at the same moment as this device; what that was is `{copy}`"
LEFT = "this device wrote over a text that another program had just stored; it lies in the server's versions"
UNTOLD = (
    "another program wrote it on the server at the same moment as this device. The two are merged; the server keeps "
    "no earlier versions, so nobody can tell whether a third text was lost"
)


class OverwriteCheck:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._known = KnownVersions(session.state)
        self._unseen = UnseenTexts(session, self._known)

    def suspects(self, now: datetime) -> frozenset[str]:
        """Paths whose tags other bytes may stand behind, and those that somebody else has just written."""
        rewrites = self._session.state.rewrites(now.timestamp())
        return (
            self._session.state.racy()
            | self._session.young
            | {one.path for one in rewrites if one.by == "them"}
        )

    def remember(
        self,
        was: BaseFile,
        stored: PutResult,
        path: str,
        raw: bytes,
        now: datetime,
        *,
        young: bool,
        tag: str = "",
    ) -> None:
        """A write has replaced what `was` there; before it is recorded as agreed on.

        `tag`: under which that was listed last, if the server has given it another one.
        """
        if not self._session.remote.traits.versions:
            return
        known = self._session.state.entry_of(path)
        is_known = known is not None and known.etag in (was.tag, tag or was.tag)
        listed = self._known.of(path, was.hash)
        size, modified = (
            (known.size, known.modified)
            if known and is_known
            else (-1, listed.modified if listed else 0)
        )
        crossed = path in self.suspects(now)
        made = Overwrite(
            path,
            stored.fileid or was.remote_id,
            was.hash,
            size,
            modified,
            revision_of(raw),
            len(raw),
            young or crossed,
            now.timestamp(),
            ours_modified=stored.modified,
            date=stored.date,
            crossed=crossed,
        )
        before = self._session.state.meta(OVERWROTE + path)
        if isinstance(before, dict) and path.endswith(
            (*TEXT, *RECORDS)
        ):  # not yet looked behind: both at once
            first = {name: before[name] for name in ("base", "size", "modified", "at")}
            first["unseen"] = before.get("unseen", ())
            older = before.get("writes") or [(before["ours"], before["base"])]
            made = replace(
                made,
                young=True,
                writes=((made.ours, made.base), *map(tuple, older)),
                **first,
            )
        self._session.state.set_meta(OVERWROTE + path, asdict(made))

    def begin(self, path: str, revision: str) -> None:
        """A file is new on the server: what lies in its versions, be it older or not, was never here."""
        if self._session.remote.traits.versions:
            self._known.begin(path, revision)

    def list_before(self, path: str, now: datetime) -> None:
        """Before a text that somebody else has just stored is written over: which versions are there already?

        Clients give files what times they like. Only such a list tells which versions came in between.
        """
        was = self._session.state.base_of(path)
        if not (self._session.remote.traits.versions and isinstance(was, BaseFile)):
            return
        if self._known.of(path, was.hash) is None:
            versions = self._session.remote.versions(path, fileid=was.remote_id)
            entry = self._session.state.entry_of(path)
            modified = entry.modified if entry and entry.etag == was.tag else 0
            self._known.save(path, was.hash, versions, modified, before_write=True)

    def is_next(
        self,
        path: str,
        was: BaseFile,
        delivery: Delivery,
        fetched: Fetched,
        texts: Collection[str],
    ) -> bool:
        """Whether a device like this one wrote a text upon the last one that is known here.

        Only such a device sends such a checksum. It has read what its text replaced; the versions tell which that is.
        `texts`: the revisions that were here.
        """
        listed = self._known.of(path, was.hash)
        if not 0 < delivery.modified < fetched.modified:
            return False  # a device gives its text a later time than that of the text that it replaces
        if listed is None or listed.before_write:
            return False
        if fetched.checksum != revision_of(fetched.raw):
            return False
        last = (fetched.modified, len(fetched.raw))
        ours = (delivery.modified, delivery.size)
        versions = self._session.remote.versions(path, fileid=was.remote_id)
        others = [one for one in versions if (one.modified, one.size) != last]
        is_listed = all(
            (one.modified, one.size) == ours or listed.has(one) for one in others
        )
        since = delivery.modified - UNNOTICED_SECONDS
        recent = [one for one in others if one.modified >= since]
        if not versions or not is_listed or len(recent) > MOST_RECENT:
            return False
        # Fault: a program writes with the time and the length of ours, or of a text before it,
        # and its text shares the entry of that. Only the bytes tell which one lies there.
        return all(
            self._holds(
                path, one, [was.hash] if (one.modified, one.size) == ours else texts
            )
            for one in recent
        )

    def _holds(
        self, path: str, version: FileVersion, revisions: Collection[str]
    ) -> bool:
        """Whether a version has the bytes of one of these texts."""
        try:
            raw = self._session.remote.get_version(
                path, version, max_bytes=self._session.largest
            )
        except RemoteMissing:
            return False
        return revision_of(raw) in revisions

    def search(
        self, result: PassResult, now: datetime, *, only: str | None = None
    ) -> dict[str, str]:
        """Look behind all writes of which it is not known yet what they replaced, or behind that of one path.

        Returns the paths that rest until that is done, with the reasons: the next write could wipe it out.
        """
        rest: dict[str, str] = {}
        for name, fact in self._session.state.metas_with_prefix(OVERWROTE).items():
            one = Overwrite(**fact)
            age = now.timestamp() - one.at
            if only not in (None, one.path):
                continue
            try:
                self._look(one, result, now)
            except ActionOutdated:
                result.outdated.add(one.path)
                rest[one.path] = LOOKED_AT_AGAIN
                continue
            except (RemoteLocked, RemoteBusy, NotUnderstood) as error:
                if getattr(error, "everywhere", False):
                    raise
                if age < GIVE_UP_SECONDS:
                    result.outdated.add(one.path)
                    if age < REST_SECONDS:
                        rest[one.path] = error.message
                    continue
            except (RemoteMissing, Refused):
                pass
            except (VaultError, OSError) as error:
                result.failed[one.path] = str(error)
                continue
            with self._session.state.transaction():
                self._session.state.delete_meta(name)
        return rest

    def _look(self, one: Overwrite, result: PassResult, now: datetime) -> None:
        versions = self._session.remote.versions(one.path, fileid=one.fileid)
        # First of all: the next write could wipe out a version.
        unseen, read = self._unseen.look(one, versions, now)
        if (size := short_size(one, versions)) is not None:
            # Fault: a text of an earlier time may pass together with the second upload.
            self._known.save(one.path, one.base, before_ours(one, read), one.modified)
            self._send_again(one, size, result, now)
            versions = self._session.remote.versions(one.path, fileid=one.fileid)
            more, read = self._unseen.look(one, versions, now)
            unseen += [raw for raw in more if raw not in unseen]
        # Fault: a version with a time in the future stands above ours, and has its length by
        # chance. The server may have kept only a part of ours: its entry is the one of our time.
        for version in versions:
            if version.modified == one.ours_modified:
                self._session.deliveries.confirm(
                    one.path, one.ours, version.size, version.modified
                )
        if unseen and not self._session.writes_here:
            result.notes.append((one.path, LEFT))
        elif unseen and one.path.endswith((*TEXT, *RECORDS)):
            note = self._session.local.read(one.path)
            if isinstance(note, Note):
                self._join(one, note, unseen, result, now)
            else:
                self._aside(one, unseen, result, now)
        elif unseen:
            self._aside(one, unseen, result, now)
        # Fault: a text that somebody wrote over ours carries an earlier time. On the list it
        # would count as older than ours, and whoever writes upon it as a reader of ours.
        self._known.save(one.path, one.ours, read, one.ours_modified)

    def _send_again(
        self, one: Overwrite, size: int, result: PassResult, now: datetime
    ) -> None:
        """The server kept the first part of our text: put the whole one over it before anybody builds upon that."""
        was, note = (
            self._session.state.base_of(one.path),
            self._session.local.read(one.path),
        )
        if not (
            isinstance(was, BaseFile)
            and isinstance(note, Note)
            and was.hash == note.revision == one.ours
        ):
            return
        try:
            if not self._session.send_again(note, was.tag, now):
                result.failed[one.path] = SHORT.format(kept=size, whole=one.ours_size)
        except RemoteChanged:
            self._session.sent(one.path)
            result.outdated.add(
                one.path
            )  # somebody has already written upon the first part

    def _join(
        self,
        one: Overwrite,
        note: Note,
        unseen: Sequence[bytes],
        result: PassResult,
        now: datetime,
    ) -> None:
        """All in one, here; it goes up with the next pass."""
        joined = note.raw
        for its in unseen:
            whole = self._joined(one, joined, its, now)
            if whole is None:
                self._aside(one, unseen, result, now)
                return
            joined = whole
        if (
            joined != note.raw
            and self._session.put(one.path, joined, note.revision, now) == "copied"
        ):
            raise ActionOutdated
        for its in unseen:
            self._session.keep(one.path, its, now, by="sync")
        self._session.keep(one.path, joined, now)
        result.merged.append(one.path)
        result.acted += 1
        result.notes.append((one.path, JOINED))

    def _joined(
        self, one: Overwrite, mine: bytes, its: bytes, now: datetime
    ) -> bytes | None:
        """Two texts in one. Some clients ask for no precondition: then theirs may start from an older version."""
        if one.path.endswith(RECORDS):
            return join_records([mine, its])
        with self._session.writing() as writer:
            snapshots = writer.snapshots
            chain = [
                *dict.fromkeys(
                    version.revision for version in snapshots.chain(one.path)
                )
            ]
            # What came here after the text that we replaced is nobody's start: what it has in addition is not removed.
            older = chain[chain.index(one.base) :] if one.base in chain else []
            texts = {
                revision: snapshots.bytes_of(revision) or b""
                for revision in (one.base, *older[:OLDER])
            }
        start = nearest(its, texts.items()) or one.base
        base = None if start == NOTHING.hash else texts[start]
        if base is not None:
            # It may be older than what we replaced: some clients ask for no precondition. Then what it lacks came
            # later, and was not removed; only what it has in addition counts.
            its = (
                merge(
                    None, base, its, between_people=True, date=f"{now:%Y-%m-%d}"
                ).result
                or its
            )
        return merge(
            base, mine, its, between_people=True, date=f"{now:%Y-%m-%d}"
        ).result

    def _aside(
        self, one: Overwrite, unseen: Sequence[bytes], result: PassResult, now: datetime
    ) -> None:
        for its in unseen:
            taken = {
                *self._session.state.hashes(),
                *self._session.state.base(),
                *result.conflicts,
            }
            copy = beside(one.path, f"memory copy {stamp(now, None)} server", taken)
            if self._session.put(copy, its, None, now) == "copied":
                raise ActionOutdated
            result.conflicts.append(copy)
            result.acted += 1
            result.notes.append((one.path, ASIDE.format(copy=copy)))
