"""Uploads that are not yet proven to stand: nobody has seen them whole on the server, or others may not know of them.

Some servers answer that they stored a file and keep half of it. Some clients write over a file without asking whether
it changed. Both can only concern an upload that was the last write to its path, and only for a short time.
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
"""A client reads the server's state and uploads upon it within this time"""
UNANSWERED = "unanswered "
TRUSTED_GAP = 600
"""A gap between two times of the server proves something only if it is longer; clients set those times, too"""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A text that came to stand on the server lately."""

    revision: str
    before: str
    """what it replaced there; "" for nothing"""
    at: float
    """when this device sent it or first read it"""
    by_us: bool
    in_parts: bool = False
    """whether the server kept only its first part before it was sent again: others may have read that part"""

    @property
    def at_once(self) -> bool:
        """Whether all its lines came to the server in one moment, as far as this device knows."""
        return self.by_us and not self.in_parts


@dataclass(frozen=True, slots=True)
class Delivery:
    """The last text of a path on the server, while it is so new that others may not have read it."""

    path: str
    revision: str
    size: int
    at: float
    """when it was sent, on the clock of this device"""
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


class Deliveries:
    """The rows, one for each path."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def record(
        self,
        path: str,
        raw: bytes,
        before: str,
        now: datetime,
        *,
        modified: int = 0,
        tries: int = 1,
        in_parts: bool = False,
    ) -> None:
        """The server has answered that it stored these bytes over those of a revision ("" for nothing)."""
        revision, at = revision_of(raw), now.timestamp()
        arrival = Arrival(revision, before, at, by_us=True, in_parts=in_parts)
        delivery = Delivery(
            path, arrival.revision, len(raw), arrival.at, modified, tries=tries
        )
        with self._state.transaction():
            self._say(delivery, arrival)
            self._state.delete_meta(UNANSWERED + path)
            self._state.clear_folder_tags(path)

    def read(self, path: str, raw: bytes, before: str, now: datetime) -> None:
        """A text of somebody else was read here; it replaces one that was agreed on."""
        arrival = Arrival(revision_of(raw), before, now.timestamp(), by_us=False)
        with self._state.transaction():
            self._say(
                Delivery(path, arrival.revision, len(raw), arrival.at, whole=True),
                arrival,
            )

    def _say(self, delivery: Delivery, arrival: Arrival) -> None:
        """Whoever writes over the new text has read all that was there a minute before it."""
        fact = self._state.meta(FACT + delivery.path)
        older = _delivery(fact).arrivals if isinstance(fact, dict) else ()
        if older and older[0].revision == arrival.revision:  # sent once more
            before = older[0].before
            arrival, older = replace(arrival, before=before, in_parts=True), older[1:]
        lately = [one for one in older if 0 <= arrival.at - one.at < UNNOTICED_SECONDS]
        self._state.set_meta(
            FACT + delivery.path, asdict(replace(delivery, arrivals=(arrival, *lately)))
        )

    def lose(self, path: str, revision: str) -> None:
        """Nobody knows what became of an upload, and another text lies there now: it may rest upon a part of ours."""
        with self._state.transaction():
            self._state.set_meta(UNANSWERED + path, revision)

    def lost(self, path: str) -> str:
        """The revision of the last upload of a path, if it is such an upload."""
        revision = self._state.meta(UNANSWERED + path)
        return revision if isinstance(revision, str) else ""

    def met(self, path: str) -> None:
        """What lies there was joined with what is here."""
        with self._state.transaction():
            self._state.delete_meta(UNANSWERED + path)

    def of(self, path: str, was: BaseNode | None) -> Delivery | None:
        """The open delivery of what both sides agreed on last."""
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
        """Close those that stood whole for a while. Without a new listing only time has passed."""
        doubtful, behind = self._state.racy(), self._state.fetched_hashes()
        for name, fact in self._state.metas_with_prefix(FACT).items():
            delivery = _delivery(fact)
            was, entry = base.get(delivery.path), entries.get(delivery.path)
            if not isinstance(was, BaseFile) or was.hash != delivery.revision:
                if not 0 <= now - delivery.at < UNNOTICED_SECONDS:
                    self._close(name)
                continue
            if entry is None or entry.etag != was.tag:
                continue
            if listed and not delivery.whole and _shows(entry, delivery):
                delivery = replace(delivery, whole=True, modified=entry.modified)
                with self._state.transaction():
                    self._state.set_meta(name, asdict(delivery))
            tag, hashed = behind.get(delivery.path, (was.tag, was.hash))
            if delivery.path in doubtful or (tag == was.tag and hashed != was.hash):
                continue  # another text may stand behind our tag, whose writer had not seen ours
            if delivery.whole and not 0 <= now - delivery.at < UNNOTICED_SECONDS:
                self._close(name)

    def confirm(self, path: str, revision: str, size: int, modified: int) -> None:
        """Record the size and the time that the server's list of versions shows for an upload."""
        fact = self._state.meta(FACT + path)
        if not isinstance(fact, dict) or fact["revision"] != revision:
            return
        seen: dict[str, Any] = {"cut_short": size < fact["size"]}
        if size == fact["size"]:
            seen |= {"whole": True, "modified": modified}
        with self._state.transaction():
            self._state.set_meta(FACT + path, {**fact, **seen})

    def is_whole(self, path: str) -> bool:
        """Whether the server has shown the last upload of a path with its full size."""
        fact = self._state.meta(FACT + path)
        return not isinstance(fact, dict) or fact["whole"] is True

    def unnoticed(self, delivery: Delivery, modified: int, now: float) -> bool:
        """Whether whoever wrote over it at that time of the server may have known nothing of it.

        A gap that is longer than the time that passed here comes from a wrong clock, and proves nothing.
        """
        gap = modified - delivery.modified
        # Fault: the server kept half of it. Whoever writes later has read only that half.
        proven = (
            not delivery.cut_short
            and delivery.modified
            and TRUSTED_GAP <= gap <= now - delivery.at + UNNOTICED_SECONDS
        )
        return not proven

    def _close(self, name: str) -> None:
        with self._state.transaction():
            self._state.delete_meta(name)


def _delivery(fact: Mapping[str, Any]) -> Delivery:
    arrivals = tuple(Arrival(**one) for one in fact.get("arrivals", ()))
    if not arrivals:  # written down before texts of others counted
        arrivals = (Arrival(fact["revision"], "", fact["at"], by_us=True),)
    return Delivery(**{**fact, "arrivals": arrivals})


def _shows(entry: Entry, delivery: Delivery) -> bool:
    """Whether the server lists the file as it was sent. A checksum of another text contradicts the size."""
    return entry.size == delivery.size and entry.checksum in ("", delivery.revision)
