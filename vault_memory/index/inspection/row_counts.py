"""Counts what an index has, for people and programs that watch it."""

from collections.abc import Sequence
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vault_memory.index.store import Index


class GroupBy(Enum):
    """What the counts of notes are grouped by: a column."""

    KIND = "note.kind"
    SCOPE = "scope.name"


class NoteCount(NamedTuple):
    """How much is in the notes of one kind or scope."""

    name: str
    """The kind or the scope"""
    notes: int
    chunks: int


def notes_by_kind(index: "Index") -> dict[str, int]:
    """Return the number of notes of each kind, sorted."""
    rows = index.connection.execute("SELECT kind, count(*) FROM note GROUP BY kind ORDER BY kind")
    return {row[0]: row[1] for row in rows}


def note_counts(
    index: "Index", group: GroupBy, scopes: Sequence[str] | None = None
) -> list[NoteCount]:
    """Return the counts of notes and chunks of these scopes, or of all, sorted by name."""
    within = ""
    if scopes is not None:
        question_marks = ", ".join("?" * len(scopes))
        within = f" WHERE scope.name IN ({question_marks})"
    column = group.value
    rows = index.connection.execute(
        f"SELECT {column}, count(DISTINCT note.id), count(chunk.id)"
        " FROM note"
        " JOIN scope ON scope.id = note.scope"
        f" LEFT JOIN chunk ON chunk.note = note.id{within}"
        f" GROUP BY {column}"
        f" ORDER BY {column}",
        tuple(scopes or ()),
    )
    return [NoteCount._make(row) for row in rows]


class FactCounts(NamedTuple):
    """How many facts hold and how many do not."""

    current: int
    ended: int


def fact_counts(index: "Index", today: date) -> FactCounts:
    """Return the counts of all facts, as they hold on a day."""
    [(total, ended)] = index.connection.execute(
        "SELECT count(*), coalesce(sum(struck OR coalesce(valid_until < ?, 0)), 0) FROM fact",
        (today.isoformat(),),
    )
    return FactCounts(total - ended, ended)


def newest_day(index: "Index", today: date) -> str | None:
    """Return the newest day of a text, up to today."""
    # Fault: a plan has the date of its day in the future.
    [(day,)] = index.connection.execute(
        "SELECT max(date) FROM chunk WHERE date <= ?", (today.isoformat(),)
    )
    return None if day is None else str(day)


def vectors_by_model(index: "Index") -> dict[str, int]:
    """Return the number of vectors of each model, by the name of the model."""
    rows = index.connection.execute(
        "SELECT model.name, count(*)"
        " FROM vector"
        " JOIN model ON model.id = vector.model"
        " GROUP BY model.id"
    )
    return {row[0]: row[1] for row in rows}


def count_vectors(index: "Index") -> int:
    """Return the number of vectors of all models."""
    [(count,)] = index.connection.execute("SELECT count(*) FROM vector")
    return int(count)


def bytes_of_pages(index: "Index") -> int:
    """Return the size of the index in bytes, without its log."""
    pages = int(index.connection.pragma("page_count"))
    page_size = int(index.connection.pragma("page_size"))
    return pages * page_size


def damage(index: "Index") -> str:
    """Return what a check of the file finds; empty when it is sound."""
    verdict = str(index.connection.pragma("quick_check"))
    return "" if verdict == "ok" else verdict


def sample_texts(index: "Index", most: int) -> list[str]:
    """Return the text of up to `most` chunks, spread over the index."""
    rows = index.connection.execute(
        "SELECT text FROM chunk WHERE id % (SELECT max(count(*) / ?, 1) FROM chunk) = 0 LIMIT ?",
        (most, most),
    )
    return [str(row[0]) for row in rows]
