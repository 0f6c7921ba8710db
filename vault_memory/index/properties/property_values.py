"""Reads which tags, fields, topics, kinds, paths and names the notes of some scopes have."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from vault_memory.index.filters import listed, notes_with
from vault_memory.markdown.properties.note_properties import Sort

if TYPE_CHECKING:
    from vault_memory.index.store import Index


def encodings(index: "Index") -> dict[str, str]:
    """Return the encodings of the notes that are no UTF-8, by path."""
    rows = index.connection.execute(
        "SELECT n.path, p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.ENCODING:d} AND p.name = ''"
        " ORDER BY n.path"
    )
    return {row[0]: row[1] for row in rows}


def values_of(
    index: "Index", scope_ids: Collection[int], sorts: Collection[Sort], name: str = ""
) -> list[str]:
    """Return the values of properties in the notes of these scopes, each once."""
    rows = index.connection.execute(
        "SELECT DISTINCT p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort IN {listed(sorts)} AND p.name = ?"
        f" AND n.scope IN {listed(scope_ids)}",
        (name,),
    )
    return [row[0] for row in rows]


def keys_of_fields(index: "Index", scope_ids: Collection[int]) -> list[str]:
    """Return the folded keys of the fields in the notes of these scopes."""
    rows = index.connection.execute(
        "SELECT DISTINCT p.name"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.FIELD:d} AND n.scope IN {listed(scope_ids)}"
    )
    return [row[0] for row in rows]


def topics(index: "Index", scope_ids: Collection[int]) -> list[str]:
    """Return the topics of the chunks of these scopes."""
    rows = index.connection.execute(
        f"SELECT DISTINCT topic FROM chunk WHERE topic <> '' AND scope IN {listed(scope_ids)}"
    )
    return [row[0] for row in rows]


def kinds_of(index: "Index", scope_ids: Collection[int]) -> list[str]:
    """Return the kinds of the notes of these scopes, sorted."""
    rows = index.connection.execute(
        f"SELECT DISTINCT n.kind FROM note n WHERE {notes_with(scope_ids)} ORDER BY n.kind"
    )
    return [row[0] for row in rows]


def paths_of(index: "Index", scope_ids: Collection[int]) -> list[str]:
    """Return the paths of the notes of these scopes."""
    rows = index.connection.execute(
        f"SELECT path FROM note WHERE scope IN {listed(scope_ids)} ORDER BY path"
    )
    return [row[0] for row in rows]


def names_of_entities(index: "Index", scope_ids: Collection[int]) -> list[str]:
    """Return the names of entities and of notes in these scopes."""
    among = listed(scope_ids)
    rows = index.connection.execute(
        f"SELECT DISTINCT key FROM entity_name WHERE scope IN {among}"
        f" UNION SELECT name FROM note WHERE name <> '' AND scope IN {among}"
    )
    return [row[0] for row in rows]
