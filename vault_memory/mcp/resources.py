"""Lists the notes as resources, and reads a note by its URI.

An example of a URI is `vault:///Users/alice/memories/garden.md`.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from vault_memory.contract.requests import NoteRequest
from vault_memory.errors import BadPath, NoteNotFound, UsageError
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.tools import MARKDOWN, PLAIN_TEXT, SCHEME, TEMPLATE
from vault_memory.rules.context import quotations
from vault_memory.rules.paths.filenames import inside
from vault_memory.search.note_reports import NoteInfo

ON_A_PAGE = 200


class ResourceUnknown(UsageError):
    """There is no such resource, or it is not the caller's."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"there is no resource {uri!r}", hint=f"resources are notes: {TEMPLATE}")


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the notes, by path."""

    notes: tuple[NoteInfo, ...]
    next: str | None
    """The cursor of the next page; None on the last one"""


def page(serving: Serving, cursor: str | None) -> Page:
    """Returns the notes of the caller after `cursor`, the last note of the previous page."""
    notes = serving.view.notes()
    start = bisect_right(notes, cursor, key=lambda note: note.note) if cursor else 0
    notes_of_page = tuple(notes[start : start + ON_A_PAGE])
    has_next = start + ON_A_PAGE < len(notes)
    return Page(notes_of_page, notes_of_page[-1].note if has_next else None)


def read(serving: Serving, uri: str) -> tuple[str, str]:
    """Returns the path of the note of a URI, and its text between tags. Raises ResourceUnknown."""
    if not uri.startswith(SCHEME):
        raise ResourceUnknown(uri)
    try:
        path = inside(uri.removeprefix(SCHEME).removeprefix("/"), encoded=True)
        note = serving.view.read_note(NoteRequest(serving.path_of(path)))
    except (BadPath, NoteNotFound):
        raise ResourceUnknown(uri) from None
    count = len(quotations.lines_of(note["text"])) if note["text"] else 0
    answer = {**note, "lines": [min(1, count), count], "total_lines": count}
    return note["note"], quotations.of_note(answer).text


def listed(note: NoteInfo) -> dict[str, Any]:
    """Returns the entry of a note in a list of resources."""
    return {
        "uri": uri_of(note.note),
        "name": quotations.shown_name(note.note),
        "description": quotations.shown_name(f"{note.kind} of {note.scope}"),
        "mimeType": mime_type(note.note),
        "size": note.bytes,
    }


def uri_of(note: str) -> str:
    return f"{SCHEME}/{quote(note)}"


def mime_type(note: str) -> str:
    return PLAIN_TEXT if note.endswith(".jsonl") else MARKDOWN
