"""Results of the calls that read and index notes, with the names of the JSON contract."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an update of the index changed."""

    notes: int
    changed: int
    removed: int
    chunks_added: int
    chunks_kept: int
    chunks_removed: int
    embedded: int
    seconds: float


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it is now. Bytes that are not UTF-8 appear as U+FFFD in `text`."""

    note: str
    revision: str
    text: str
    sections: tuple[str, ...]
    raw: bytes = field(default=b"", repr=False)
    """the exact bytes of which `revision` is the SHA-256"""


class NoteList(list["NoteInfo"]):
    """Notes of some scopes, or of all."""

    unknown_scopes: tuple[str, ...] = ()
    """scopes that were asked for and have no note: perhaps misspelt names"""


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """One line of the list of notes."""

    note: str
    scope: str
    kind: str
    revision: str
    bytes: int
