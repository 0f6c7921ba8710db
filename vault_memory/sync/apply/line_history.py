"""Remembers how the lines of a note came to be, for the merges of the next minutes."""

from datetime import datetime

from vault_memory.sync.apply.session import SyncSession
from vault_memory.sync.plan.line_forms import LineForms, SeenText, forms_in
from vault_memory.vault.reader import Note

RECENT_SECONDS = 900.0
"""An earlier form of a line comes back within minutes; after that, a person wrote it again"""
MOST = 20
"""Texts of a note that are compared"""


def recent_forms(session: SyncSession, path: str, now: datetime) -> LineForms:
    """Which lines of a note became other ones within the last minutes."""
    since = now.timestamp() - RECENT_SECONDS
    versions = session.versions_here(path)[:MOST]
    texts: list[SeenText] = []
    for version in reversed(versions):
        raw = session.sent_bytes(version.revision) if version.at >= since else None
        if raw is not None:
            texts.append(SeenText(raw, is_of_device=version.by != "sync"))
    note = session.local.read(path)
    if isinstance(note, Note):
        texts.append(SeenText(note.raw, is_of_device=True))
    return forms_in(texts)
