"""Infers which text a program had read before it wrote over a recent upload unread.

Two uploads can pass one precondition at once, and some programs send none. Their text then starts
from an older version than the last one here. Taken for an edit of the last one, it would remove
the lines that the program never saw. So the merge gets the version that the program had read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Fetched
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.session import RECORDS, TEXT, SyncSession
from vault_memory.sync.apply.unproven_uploads import Arrival, Delivery
from vault_memory.sync.plan.awareness import (
    Step,
    has_read,
    items_of,
    torn_end,
    without_line,
    without_torn,
)
from vault_memory.sync.trees import BaseFile
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.version_distance import nearest

Versions = Mapping[str, bytes]
"""The versions of a note that were here, by revision, the newest first"""


@dataclass(frozen=True, slots=True)
class Start:
    """The version that a program had read; `raw` is None for records, which are merged without a base."""

    raw: bytes | None
    cut: bytes = b""
    """Our upload, if the server may have kept only its first part, which the program then read"""
    torn: bytes = b""
    """The last line here, if it is the first part of a line in an unfinished upload of a device"""


class StartFinder:
    """For one vault and one remote."""

    def __init__(
        self,
        session: SyncSession,
        overwrites: OverwriteCheck,
    ) -> None:
        self._session = session
        self._overwrites = overwrites

    def find(
        self,
        path: str,
        was: BaseFile,
        fetched: Fetched,
        now: datetime,
    ) -> Start | None:
        """The version that the author of `fetched` had read; None if that is the last one here."""
        delivery = self._session.deliveries.of(path, was)
        if delivery is None or not self._may_be_unread(delivery, path, fetched, now):
            return None
        versions = self._session.versions_here(path)
        if was.hash not in versions or self._is_restored(fetched, versions):
            return None
        last = versions[was.hash]
        torn = _torn_line(delivery, last, fetched)
        if items_of(without_line(last, torn)) <= items_of(fetched.raw):
            return None
        if path.endswith(RECORDS):
            return Start(None)
        # Fault: the server keeps half of an upload, and the program reads that half. The lines that
        # its text lacks were cut off and not removed, even if the program has read other lines.
        if delivery.whole and self._has_read(path, was, delivery, fetched, versions):
            return None
        start = _nearest_version(fetched.raw, versions, last_revision=was.hash)
        return Start(start, cut=b"" if delivery.whole else last, torn=torn)

    def _may_be_unread(
        self,
        delivery: Delivery,
        path: str,
        fetched: Fetched,
        now: datetime,
    ) -> bool:
        """Whether the program may have written before it could read the last upload."""
        if not path.endswith((*TEXT, *RECORDS)):
            return False
        # A device like this one restores the lines of its own upload: only foreign text counts.
        if not delivery.is_ours and not self._is_foreign(fetched):
            return False
        entry = self._session.state.entry_of(path)
        modified = entry.modified if entry and entry.etag == fetched.etag else 0
        return self._session.deliveries.may_be_unread(
            delivery, modified, now.timestamp()
        )

    def _is_foreign(self, fetched: Fetched) -> bool:
        """Whether a program of another kind uploaded it: devices like this one send a checksum."""
        has_checksums = self._session.remote.traits.checksums
        return has_checksums and fetched.checksum != revision_of(fetched.raw)

    def _is_restored(
        self,
        fetched: Fetched,
        versions: Versions,
    ) -> bool:
        """Whether a person restored an earlier version on the server. A device never does."""
        revision = revision_of(fetched.raw)
        return revision in versions and fetched.checksum != revision

    def _has_read(
        self,
        path: str,
        was: BaseFile,
        delivery: Delivery,
        fetched: Fetched,
        versions: Versions,
    ) -> bool:
        """Whether the text or the server's versions prove that its author had read the last one."""
        steps = [self._step(arrival, versions) for arrival in delivery.arrivals]
        if has_read(fetched.raw, steps):
            return True
        return self._overwrites.is_successor(path, was, delivery, fetched, versions)

    def _step(
        self,
        arrival: Arrival,
        versions: Versions,
    ) -> Step:
        revisions = list(versions)
        index = -1
        if arrival.revision in versions:
            index = revisions.index(arrival.revision)
        older = (items_of(versions[revision]) for revision in revisions[index + 1 :])
        return Step(
            self._session.sent_bytes(arrival.revision) or b"",
            self._session.sent_bytes(arrival.before) or b"",
            frozenset[bytes]().union(*older),
            arrival.at_once,
        )


def _torn_line(
    delivery: Delivery,
    last: bytes,
    fetched: Fetched,
) -> bytes:
    """The last line here, if it is the first part of a line that another device was sending."""
    if delivery.arrivals[0].by_us:
        return b""
    return torn_end(last, fetched.raw)


def merge_additions(
    start: Start,
    ours: bytes,
    theirs: bytes,
    now: datetime,
) -> bytes | None:
    """Our text with the lines that the other side adds to its start; None: not mergeable.

    The start is the nearest version that was here. The program may have read an older one: then a
    line that its text lacks is one that it never saw.
    """
    date = f"{now:%Y-%m-%d}"
    if start.cut:
        theirs = without_torn(theirs, start.cut, [start.raw or b""])
    if start.raw is not None:
        theirs = with_additions(start.raw, theirs, date)
        if start.torn:
            # Fault: this device has read the first part of an upload. The lines that this part
            # lacks were not removed here.
            ours = with_additions(start.raw, without_line(ours, start.torn), date)
    return merge(start.raw, ours, theirs, between_people=True, date=date).result


def with_additions(
    start: bytes,
    text: bytes,
    date: str,
) -> bytes:
    """An earlier text with the lines that a later one adds."""
    return merge(None, start, text, between_people=True, date=date).result or text


def _nearest_version(
    theirs: bytes,
    versions: Versions,
    *,
    last_revision: str,
) -> bytes:
    """The version that a text was most likely made from: the last one or an older one."""
    revisions = list(versions)
    # A version that was saved here after the last upload was never on the server.
    candidates = revisions[revisions.index(last_revision) :]
    texts = [
        (revision, _without_headings(versions[revision])) for revision in candidates
    ]
    return versions[nearest(_without_headings(theirs), texts) or last_revision]


def _without_headings(raw: bytes) -> bytes:
    """The lines that differ between versions: a program repeats the heading above its new line."""
    return b"\n".join(line for line in raw.splitlines() if not line.startswith(b"#"))
