"""Remembers recent texts on the server until they are proven to be complete and read by others.

Some servers report a file as stored and keep half of it. Some clients overwrite a file without a
precondition. Both faults concern only the latest upload of a path, and only for a short time.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from vault_memory.remote.contract import Entry
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import BaseFile, BaseNode
from vault_memory.vault.snapshots import revision_of

FACT = "delivery "
UNNOTICED_SECONDS = 60.0
"""A client uploads within this time after it has read the server's text"""
UNANSWERED = "unanswered "
TRUSTED_GAP = 600
"""Only a longer gap between two times of the server is proof: clients set those times, too"""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A recent text on the server."""

    revision: str
    before: str
    """the revision that it replaced on the server; empty for none"""
    at: float
    """Unix seconds: when this device sent it or first read it"""
    by_us: bool
    in_parts: bool = False
    """whether the server first kept only a part of it: other devices may have read that part"""

    @property
    def at_once(self) -> bool:
        """Whether all its lines reached the server in one moment, as this device knows."""
        return self.by_us and not self.in_parts


@dataclass(frozen=True, slots=True)
class Delivery:
    """The last text of a path on the server, while others may not have read it."""

    path: str
    revision: str
    size: int
    at: float
    """Unix seconds on the clock of this device: when it was sent"""
    modified: int = 0
    """the time that the server lists for it; 0 until it is listed"""
    whole: bool = False
    """whether a listing showed it with its full size"""
    cut_short: bool = False
    """whether the server's versions showed that only its first part was kept"""
    tries: int = 1
    """how often it was sent, because the server kept only the first part"""
    arrivals: tuple[Arrival, ...] = ()
    """the texts of the last minute up to this one, the newest first"""

    @property
    def is_ours(self) -> bool:
        """Whether a text of this device is among those that others may not have read."""
        return any(arrival.by_us for arrival in self.arrivals)

    def is_recent(self, now: float) -> bool:
        """Whether other clients may still upload without having read it."""
        return 0 <= now - self.at < UNNOTICED_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class SentText:
    """A text of this device that the server reports as stored."""

    path: str
    raw: bytes
    before: str
    """the revision that it replaced; empty for none"""
    modified: int = 0
    """the time that the server lists for it; 0 when unknown"""
    tries: int = 1
    """how often it was sent"""
    in_parts: bool = False
    """whether the server first kept only a part of it"""


class Deliveries:
    """The stored deliveries, one for each path."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def record_ours(
        self,
        sent: SentText,
        now: datetime,
    ) -> None:
        """Record that the server reports an upload of this device as stored."""
        path, at = sent.path, now.timestamp()
        revision = revision_of(sent.raw)
        arrival = Arrival(revision, sent.before, at, by_us=True, in_parts=sent.in_parts)
        delivery = Delivery(
            path, revision, len(sent.raw), at, sent.modified, tries=sent.tries
        )
        with self._state.transaction():
            self._store(delivery, arrival)
            self._state.delete_meta(UNANSWERED + path)
            self._state.clear_folder_tags(path)

    def record_theirs(
        self,
        path: str,
        raw: bytes,
        before: str,
        now: datetime,
    ) -> None:
        """Record a text of another device that replaces one of the base."""
        at = now.timestamp()
        arrival = Arrival(revision_of(raw), before, at, by_us=False)
        delivery = Delivery(path, arrival.revision, len(raw), at, whole=True)
        with self._state.transaction():
            self._store(delivery, arrival)

    def _store(
        self,
        delivery: Delivery,
        arrival: Arrival,
    ) -> None:
        """Store a delivery with the arrivals of the last minute.

        A client that overwrites the new text has read all texts from before that minute.
        """
        fact = self._state.meta(FACT + delivery.path)
        older = _delivery(fact).arrivals if isinstance(fact, dict) else ()
        is_sent_again = bool(older) and older[0].revision == arrival.revision
        if is_sent_again:
            arrival = replace(arrival, before=older[0].before, in_parts=True)
            older = older[1:]
        recent = [
            earlier
            for earlier in older
            if 0 <= arrival.at - earlier.at < UNNOTICED_SECONDS
        ]
        stored = replace(delivery, arrivals=(arrival, *recent))
        self._state.set_meta(FACT + delivery.path, asdict(stored))

    def mark_unanswered(
        self,
        path: str,
        revision: str,
    ) -> None:
        """Record that the outcome of an upload is unknown, and that the server has another text.

        The other text may be based on a part of ours.
        """
        with self._state.transaction():
            self._state.set_meta(UNANSWERED + path, revision)

    def unanswered_revision(self, path: str) -> str:
        """The revision of an upload with an unknown outcome; empty for none."""
        revision = self._state.meta(UNANSWERED + path)
        return revision if isinstance(revision, str) else ""

    def clear_unanswered(self, path: str) -> None:
        """Record that the server's text is merged with the local one."""
        with self._state.transaction():
            self._state.delete_meta(UNANSWERED + path)

    def of(
        self,
        path: str,
        was: BaseNode | None,
    ) -> Delivery | None:
        """The open delivery of the base of a path."""
        fact = self._state.meta(FACT + path)
        if not isinstance(fact, dict) or not isinstance(was, BaseFile):
            return None
        delivery = _delivery(fact)
        return delivery if delivery.revision == was.hash else None

    def observe(
        self,
        entries: Mapping[str, Entry],
        base: Mapping[str, BaseNode],
        now: float,
        *,
        listed: bool,
    ) -> None:
        """Close the deliveries that were complete for a while.

        `listed`: the entries come from a new listing. Otherwise, only time has passed.
        """
        racy = self._state.racy()
        fetched_hashes = self._state.fetched_hashes()
        for name, fact in self._state.metas_with_prefix(FACT).items():
            delivery = _delivery(fact)
            path = delivery.path
            was, entry = base.get(path), entries.get(path)
            is_settled = True
            if isinstance(was, BaseFile) and was.hash == delivery.revision:
                if listed:
                    delivery = self._observe_size(name, delivery, was, entry)
                # Fault: another text has the tag of ours, and its author had not read ours.
                is_hidden = _has_other_bytes(was, fetched_hashes.get(path))
                is_certain = path not in racy and not is_hidden
                is_settled = is_certain and _is_proven(delivery, was, entry)
            if is_settled and not delivery.is_recent(now):
                self._close(name)

    def _observe_size(
        self,
        name: str,
        delivery: Delivery,
        was: BaseFile,
        entry: Entry | None,
    ) -> Delivery:
        """Record that the server lists the complete file."""
        if delivery.whole or entry is None or entry.etag != was.tag:
            return delivery
        if not _is_listed_complete(entry, delivery):
            return delivery
        complete = replace(delivery, whole=True, modified=entry.modified)
        with self._state.transaction():
            self._state.set_meta(name, asdict(complete))
        return complete

    def confirm(
        self,
        path: str,
        revision: str,
        size: int,
        modified: int,
    ) -> None:
        """Record the size and the time that the server's list of versions shows for an upload."""
        fact = self._state.meta(FACT + path)
        if not isinstance(fact, dict) or fact["revision"] != revision:
            return
        changes: dict[str, Any] = {"cut_short": size < fact["size"]}
        if size == fact["size"]:
            changes |= {"whole": True, "modified": modified}
        with self._state.transaction():
            self._state.set_meta(FACT + path, {**fact, **changes})

    def is_whole(self, path: str) -> bool:
        """Whether the server has shown the last upload of a path with its full size."""
        fact = self._state.meta(FACT + path)
        return not isinstance(fact, dict) or fact["whole"] is True

    def may_be_unread(
        self,
        delivery: Delivery,
        modified: int,
        now: float,
    ) -> bool:
        """Whether the author of a later text may not have read a delivery.

        `modified`: the server's time of the later text.
        """
        # Fault: the server kept half of it. The author of a later text has read only that half.
        if delivery.cut_short or not delivery.modified:
            return True
        gap = modified - delivery.modified
        # Fault: a wrong clock sets the server's times. Then the gap is longer than the time that
        # passed here, and proves nothing.
        longest_gap = now - delivery.at + UNNOTICED_SECONDS
        return not TRUSTED_GAP <= gap <= longest_gap

    def _close(self, name: str) -> None:
        with self._state.transaction():
            self._state.delete_meta(name)


def _delivery(fact: Mapping[str, Any]) -> Delivery:
    arrivals = tuple(Arrival(**arrival) for arrival in fact.get("arrivals", ()))
    if not arrivals:  # written by a version that did not record texts of others
        arrivals = (Arrival(fact["revision"], "", fact["at"], by_us=True),)
    return Delivery(**{**fact, "arrivals": arrivals})


def _is_proven(
    delivery: Delivery,
    was: BaseFile,
    entry: Entry | None,
) -> bool:
    """Whether the server still lists a text that it has shown to be complete."""
    return delivery.whole and entry is not None and entry.etag == was.tag


def _is_listed_complete(
    entry: Entry,
    delivery: Delivery,
) -> bool:
    """Whether the server lists the file as it was sent."""
    # Fault: another text has the size of ours. Its checksum shows that.
    return entry.size == delivery.size and entry.checksum in ("", delivery.revision)


def _has_other_bytes(
    was: BaseFile,
    fetched: tuple[str, str] | None,
) -> bool:
    """Whether bytes that differ from the base were fetched under its tag."""
    if fetched is None:
        return False
    tag, hashed = fetched
    return tag == was.tag and hashed != was.hash
