"""Remembers how a note came to be, for the merges of the next minutes.

The versions of the vault show what was edited on this device. The uploads of devices have a checksum on the
server. A text without it comes from a page, a phone or another client, and these know each other's texts.
"""

from collections.abc import Iterable
from datetime import datetime

from vault_memory.remote.contract import Fetched
from vault_memory.sync.apply.session import TEXT, SyncSession
from vault_memory.sync.plan.line_forms import Author, LineForms, SeenText, forms_in
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

RECENT_SECONDS = 900.0
"""An earlier form of a line comes back within minutes; after that, a person wrote it again"""
MOST = 20
"""Texts of a note that are compared"""


class LineHistory:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session

    def is_of_page(self, fetched: Fetched) -> bool:
        """Whether a program that is no device of ours stored a text."""
        keeps_checksums = self._session.remote.traits.checksums
        return keeps_checksums and fetched.checksum != revision_of(fetched.raw)

    def record(
        self,
        path: str,
        fetched: Fetched,
        now: datetime,
    ) -> None:
        """Record the server's text of a path, if it is a page's. Within a transaction."""
        if not path.endswith(TEXT) or not self.is_of_page(fetched):
            return
        connection = self._session.state.connection
        row = (path, revision_of(fetched.raw), now.timestamp())
        connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?)", row)
        connection.execute(
            "DELETE FROM pages WHERE path = ?1 AND at < (SELECT max(at) FROM pages WHERE path = ?1) - ?2",
            (path, RECENT_SECONDS),
        )

    def last_page(self, path: str) -> bytes:
        """The last text of a page; empty when none is known."""
        return next(reversed(self._pages(path, 0.0)), b"")

    def forms(
        self,
        path: str,
        now: datetime,
    ) -> LineForms:
        """Which lines of a note became other ones within the last minutes."""
        since = now.timestamp() - RECENT_SECONDS
        session = self._session
        versions = session.versions_here(path)[:MOST]
        recent = [version for version in versions if version.at >= since]
        texts: list[SeenText] = []
        for version in reversed(recent):
            raw = session.sent_bytes(version.revision)
            if raw is not None:
                texts.append(SeenText(raw, _author(version.by)))
        note = session.local.read(path)
        if isinstance(note, Note):
            texts.append(SeenText(note.raw, "device"))
        pages = [SeenText(raw, "page") for raw in self._pages(path, since)]
        return forms_in(pages, texts)

    def _pages(
        self,
        path: str,
        since: float,
    ) -> list[bytes]:
        """The texts of pages since a time, the oldest first."""
        rows: Iterable[tuple[str]] = self._session.state.connection.execute(
            "SELECT revision FROM pages WHERE path = ? AND at >= ? ORDER BY at, rowid",
            (path, since),
        )
        texts = [self._session.sent_bytes(revision) for (revision,) in rows]
        return [text for text in texts if text is not None]


def _author(by: str) -> Author:
    return "unknown" if by == "sync" else "device"
