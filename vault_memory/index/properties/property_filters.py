"""Filters by tag, field and path as SQL."""

from collections.abc import Iterable, Sequence
from typing import Any

from vault_memory.database.connection import Connection
from vault_memory.markdown.properties.note_properties import (
    Sort,
    clean_tag,
    folded_value,
    text_tags,
)
from vault_memory.rules.paths import globs
from vault_memory.rules.search import tokens

DATED = "dated"
"""The kind of notes of a day, where a tag within a text is of this text alone"""

Condition = tuple[str, list[object]]
"""A part of a statement, and its values"""

_HAS_TAG = "(p.key = ? OR p.key >= ? AND p.key < ?)"
_NOTES_WITH = "SELECT p.note FROM property p WHERE"


def conditions(tags: Iterable[str], fields: Iterable[str], paths: Sequence[str]) -> Condition:
    """Return conditions on a chunk ``c``, each with AND before it, and their values."""
    sql = ""
    values: list[object] = []
    parts = [_with_tag(tag) for tag in tags]
    parts += [_with_field(field) for field in fields]
    for condition, more in parts:
        sql += f" AND {condition}"
        values += more
    if paths:
        sql += " AND c.note IN (SELECT id FROM note WHERE path_fits(path))"
    return sql, values


def prepare(connection: Connection, paths: Sequence[str]) -> None:
    """Give the connection the functions that the conditions use."""
    connection.create_scalar_function("has_tag", _has_tag, 3, deterministic=True)
    if paths:
        # Fault: SQLite cannot pass lone surrogates, so the globs are cleaned like the paths.
        is_match = globs.matcher(list(map(tokens.clean, paths)))

        def path_fits(*values: Any) -> bool:
            return is_match(*values)

        connection.create_scalar_function("path_fits", path_fits, 1, deterministic=True)


def split_field(field: str) -> tuple[str, str | None]:
    """Return the folded key and the folded value of a filter; None for any value."""
    key, sign, value = tokens.clean(field).partition("=")
    return folded_value(key), folded_value(value) if sign else None


def _with_tag(tag: str) -> Condition:
    key = folded_value(clean_tag(tokens.clean(tag)))
    # "0" is the letter after "/", so this is the range of nested tags.
    names: list[object] = [key, f"{key}/", f"{key}0"]
    of_note = f"{_NOTES_WITH} p.sort = {Sort.TAG:d} AND p.name = '' AND {_HAS_TAG}"
    of_text = f"{_NOTES_WITH} p.sort = {Sort.TEXT_TAG:d} AND p.name = '' AND {_HAS_TAG}"
    dated = f"SELECT id FROM note WHERE kind = '{DATED}'"
    condition = (
        f"(c.note IN ({of_note}) OR c.note IN ({of_text})"
        f" AND (c.note NOT IN ({dated}) OR has_tag(?, c.heading, c.text)))"
    )
    return condition, [*names, *names, key]


def _has_tag(*values: Any) -> bool:
    key, heading, text = values
    # Fault: U+001F joins headings, and a tag begins only after a blank.
    tags = map(folded_value, text_tags(f"{heading}\n{text}".replace("\x1f", "\n")))
    return any(tag == key or tag.startswith(f"{key}/") for tag in tags)


def _with_field(field: str) -> Condition:
    key, value = split_field(field)
    condition = f"c.note IN ({_NOTES_WITH} p.sort = {Sort.FIELD:d} AND p.name = ?"
    if value is None:
        return f"{condition})", [key]
    return f"{condition} AND p.key = ?)", [key, value]
