"""Excludes chunks from a search: those of the open conversation, and old summaries.

They do not count in statistics either. Otherwise a question that has just been recorded would make
its own words look frequent, and the note that answers it would seem to say little.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.index import term_volumes
from vault_memory.index.filters import chunks_in
from vault_memory.rules.search.tokens import words

if TYPE_CHECKING:
    from vault_memory.index.store import Index

TRANSCRIPT = "transcript"


class Exclusion(NamedTuple):
    """Chunks to pass over, and how much they add to the volume of the scopes."""

    ids: frozenset[int] = frozenset()
    repetitions: frozenset[int] = frozenset()
    """Excluded chunks whose words still count for the chunks beside them: the answer to a question
    that was asked before follows it, and often has none of its words"""
    volume: term_volumes.Volume = term_volumes.Volume(0, 0)

    def __bool__(self) -> bool:
        return bool(self.ids)

    def rest_of(self, volume: term_volumes.Volume) -> term_volumes.Volume:
        """Return the volume without these chunks."""
        return term_volumes.Volume(
            volume.chunks - self.volume.chunks, volume.words - self.volume.words
        )


def exclusion(
    index: "Index",
    scope_ids: Sequence[int],
    ids: Collection[int],
    repetitions: frozenset[int] = frozenset(),
) -> Exclusion:
    """Measure those of these chunks that are in the scopes; `repetitions` are some of them."""
    if not ids:
        return Exclusion()
    sizes = dict(
        index.connection.execute(
            "SELECT c.id, d.sz"
            " FROM json_each(?) wanted"
            " CROSS JOIN chunk c ON c.id = wanted.value"
            " JOIN chunk_fts_docsize d ON d.id = c.id"
            f" WHERE {chunks_in(scope_ids)}",
            (_as_json(ids),),
        )
    )
    total = sum(map(term_volumes.words_of, sizes.values()))
    return Exclusion(frozenset(sizes), repetitions, term_volumes.Volume(len(sizes), total))


def turns_of(index: "Index", scope_ids: Sequence[int], heading: str) -> set[int]:
    """Return the ids of the turns of a session, which is named as its chunks are headed."""
    return {id_ for (id_,) in index.connection.execute(*_turns_headed(scope_ids, heading))}


def own_turns_of(index: "Index", scope_ids: Sequence[int], heading: str) -> list[str]:
    """Return the chunks of what people said in a session."""
    ids = turns_of(index, scope_ids, heading)
    rows = index.connection.execute(
        "SELECT c.text"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        " WHERE c.who NOT IN ('assistant', 'system', 'tool')",
        (_as_json(ids),),
    )
    return [row[0] for row in rows]


def episodes_before(index: "Index", scope_ids: Sequence[int], day: date) -> set[int]:
    """Return the ids of the summaries of conversations that are older than a day."""
    rows = index.connection.execute(
        "SELECT c.id"
        " FROM note n"
        " CROSS JOIN chunk c ON c.note = n.id"
        f" WHERE n.kind = 'episode' AND n.date < ? AND {chunks_in(scope_ids)}",
        (day.isoformat(),),
    )
    return {row[0] for row in rows}


def among_turns(index: "Index", ids: Collection[int]) -> set[int]:
    """Return those of these chunks that are turns of a transcript."""
    rows = index.connection.execute(
        "SELECT c.id"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        " JOIN note n ON n.id = c.note"
        " WHERE n.kind = ?",
        (_as_json(ids), TRANSCRIPT),
    )
    return {row[0] for row in rows}


def _turns_headed(scope_ids: Sequence[int], heading: str) -> tuple[str, tuple[str, ...]]:
    """The full text finds the heading; the row is compared exactly, since stems may be equal."""
    where = f"n.kind = ? AND c.heading = ? AND {chunks_in(scope_ids)}"
    phrase = " ".join(words(heading))
    # A name without letters is not in the full text.
    if not phrase:
        return (
            f"SELECT c.id FROM note n CROSS JOIN chunk c ON c.note = n.id WHERE {where}",
            (TRANSCRIPT, heading),
        )
    return (
        "SELECT c.id"
        " FROM chunk_fts f"
        " CROSS JOIN chunk c ON c.id = f.rowid"
        " JOIN note n ON n.id = c.note"
        " WHERE chunk_fts MATCH ?"
        f" AND {where}",
        (f'heading : "{phrase}"', TRANSCRIPT, heading),
    )


def _as_json(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
