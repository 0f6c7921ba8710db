"""Writes the properties of notes into the index, and the aliases as names of entities."""

from typing import TYPE_CHECKING, Protocol

from vault_memory.database.connection import Connection
from vault_memory.markdown.properties import note_properties
from vault_memory.rules.facts import relevance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vault_memory.markdown.properties.note_properties import Property

_Row = tuple[int, str, str, str]
_COLUMNS = "sort, name, key, value"


class NoteEntry(Protocol):
    """What the index writes of a note."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def properties(self) -> "Sequence[Property]": ...


def name_of(entry: NoteEntry) -> str:
    """Return the folded name of a note, by which links find it; a transcript has none."""
    # Fault: a link to a day would lead to the log of its conversations.
    if entry.kind == "transcript":
        return ""
    return note_properties.link_key(entry.path)


def insert(connection: Connection, note: int, scope: int, entry: NoteEntry) -> None:
    """Write the properties of a new note, and the names of entities in them."""
    if entry.properties:
        rows = [_storable(property_) for property_ in entry.properties]
        _insert(connection, note, rows)
        _write_aliases(connection, note, scope, entry)


def replace(connection: Connection, note: int, scope: int, entry: NoteEntry) -> None:
    """Replace the properties of a note, and the names of entities in them."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM property WHERE note = ? ORDER BY rowid", (note,)
    ).fetchall()
    new = [_storable(property_) for property_ in entry.properties]
    # Fault: rows that are written again make every saved note a change of the index, and
    # drop the cached answers.
    if rows == new:
        return
    if rows:
        connection.execute("DELETE FROM property WHERE note = ?", (note,))
    _insert(connection, note, new)
    if entry.kind != "facts":
        connection.execute("DELETE FROM entity_name WHERE note = ?", (note,))
    _write_aliases(connection, note, scope, entry)


def _insert(connection: Connection, note: int, rows: "Iterable[_Row]") -> None:
    connection.executemany(
        "INSERT INTO property VALUES (?,?,?,?,?)", [(note, *row) for row in rows]
    )


def _write_aliases(connection: Connection, note: int, scope: int, entry: NoteEntry) -> None:
    """Make the aliases of a note names of the entity that the note is named after."""
    # The names on a page of facts are those of its facts.
    if entry.kind == "facts":
        return
    alias = note_properties.Sort.ALIAS
    aliases = {
        _text(property_.key)
        for property_ in entry.properties
        if property_.sort == alias and property_.key
    }
    if not aliases:
        return
    entity = name_of(entry)
    connection.executemany(
        "INSERT INTO entity_name VALUES (?,?,?,?,?)",
        [(note, scope, relevance.lead(key), key, entity) for key in sorted(aliases)],
    )


def _storable(entry: "Property") -> "_Row":
    sort, name, key, value = entry
    return int(sort), _text(name), _text(key), _text(value)


def _text(text: str) -> str:
    # Fault: SQLite cuts a text at a NUL when it is read back, so rows would always differ.
    return text.replace("\0", "\ufffd") if "\0" in text else text
