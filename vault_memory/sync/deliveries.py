"""Uploads that are not yet proven to stand: nobody has seen them whole on the server, or others may not know of them.

Some servers answer that they stored a file and keep half of it. Some clients write over a file without asking whether
it changed. Both can only concern an upload that was the last write to its path, and only for a short time.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from vault_memory.remote import Entry
from vault_memory.sync.book import Book
from vault_memory.sync.trees import BaseFile, BaseNode
from vault_memory.vault import revision_of

FACT = "delivery "
UNNOTICED_SECONDS = 60.0
"""A client reads the server's state and uploads upon it within this time"""
UNANSWERED = "unanswered "
TRUSTED_GAP = 600
"""A gap between two times of the server proves something only if it is longer; clients set those times, too"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One upload of ours that was the last write to its path."""

    path: str
    revision: str
    size: int
    at: float
    """when it was sent, on the clock of this device"""
    modified: int = 0
    """the time that the server lists for it; 0 until it is listed"""
    whole: bool = False
    """whether a listing showed it with its full size"""
    tries: int = 1
    """how often it was sent, because the server kept only the first part"""


class Deliveries:
    """The rows, one for each path."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def record(self, path: str, raw: bytes, now: datetime, *, tries: int = 1) -> None:
        """The server has answered that it stored these bytes."""
        delivery = Delivery(path, revision_of(raw), len(raw), now.timestamp(), tries=tries)
        with self._book.writing():
            self._book.say(FACT + path, asdict(delivery))
            self._book.unsay(UNANSWERED + path)
            self._book.wrote_below(path)

    def lose(self, path: str, revision: str) -> None:
        """Nobody knows what became of an upload, and another text lies there now: it may rest upon a part of ours."""
        with self._book.writing():
            self._book.say(UNANSWERED + path, revision)

    def lost(self, path: str) -> bool:
        """Whether the last upload of a path is such an upload."""
        return self._book.said(UNANSWERED + path) is not None

    def met(self, path: str) -> None:
        """What lies there was joined with what is here."""
        with self._book.writing():
            self._book.unsay(UNANSWERED + path)

    def of(self, path: str, was: BaseNode | None) -> Delivery | None:
        """The open delivery of what both sides agreed on last, if it was sent from here."""
        fact = self._book.said(FACT + path)
        if not isinstance(fact, dict) or not isinstance(was, BaseFile):
            return None
        delivery = Delivery(**fact)
        return delivery if delivery.revision == was.hash else None

    def observe(self, entries: Mapping[str, Entry], base: Mapping[str, BaseNode], now: float, *, listed: bool) -> None:
        """Close those that stood whole for a while. Without a new listing only time has passed."""
        doubtful, behind = self._book.racy(), self._book.behind()
        for name, fact in self._book.facts(FACT).items():
            delivery = Delivery(**fact)
            was, entry = base.get(delivery.path), entries.get(delivery.path)
            if not isinstance(was, BaseFile) or was.hash != delivery.revision:
                self._close(name)
                continue
            if entry is None or entry.etag != was.tag:
                continue
            if listed and not delivery.whole and _shows(entry, delivery):
                delivery = replace(delivery, whole=True, modified=entry.modified)
                with self._book.writing():
                    self._book.say(name, asdict(delivery))
            tag, hashed = behind.get(delivery.path, (was.tag, was.hash))
            if delivery.path in doubtful or (tag == was.tag and hashed != was.hash):
                continue  # another text may stand behind our tag, whose writer had not seen ours
            if delivery.whole and not 0 <= now - delivery.at < UNNOTICED_SECONDS:
                self._close(name)

    def confirm(self, path: str, revision: str, size: int, modified: int) -> None:
        """The server's list of versions shows a size and a time for what the file holds now."""
        fact = self._book.said(FACT + path)
        if isinstance(fact, dict) and (fact["revision"], fact["size"]) == (revision, size):
            with self._book.writing():
                self._book.say(FACT + path, {**fact, "whole": True, "modified": modified})

    def is_whole(self, path: str) -> bool:
        """Whether the server has shown the last upload of a path with its full size."""
        fact = self._book.said(FACT + path)
        return not isinstance(fact, dict) or fact["whole"] is True

    def unnoticed(self, delivery: Delivery, modified: int, now: float) -> bool:
        """Whether whoever wrote over it at that time of the server may have known nothing of it.

        A gap that is longer than the time that passed here comes from a wrong clock, and proves nothing.
        """
        gap = modified - delivery.modified
        proven = delivery.modified and TRUSTED_GAP <= gap <= now - delivery.at + UNNOTICED_SECONDS
        return not proven

    def _close(self, name: str) -> None:
        with self._book.writing():
            self._book.unsay(name)


def _shows(entry: Entry, delivery: Delivery) -> bool:
    """Whether the server lists the file as it was sent. A checksum of another text contradicts the size."""
    return entry.size == delivery.size and entry.checksum in ("", delivery.revision)
