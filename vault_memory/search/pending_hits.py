"""Text that waits to be written into its note: found by its words like what stands in the notes, and told apart.

It lies in an index of its own, which is asked the same; its places and ids are moved out of the way of the others. How
much a word says is taken from the notes: among the few texts that wait, no word is rare.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.index import fts_search
from vault_memory.index.store import Index
from vault_memory.rules.search import scoring

if TYPE_CHECKING:
    from vault_memory.database.connection import Connection
    from vault_memory.index.filters import Filters
    from vault_memory.index.fts_search import Matches

BEYOND = (1 << 30) * scoring.ORDINALS
"""More than any place in an index"""


class Notes(NamedTuple):
    """The notes that a search asks."""

    connection: "Connection"
    scope_ids: Sequence[int]


class PendingHits(NamedTuple):
    """What a search needs of it."""

    connection: "Connection"
    scope_ids: tuple[int, ...]

    @classmethod
    def of(
        cls, index: Index | None, scopes: Sequence[str], filters: "Filters"
    ) -> "PendingHits | None":
        """None when nothing waits in these scopes."""
        scope_ids = tuple(index.scope_ids(scopes)) if index is not None else ()
        if index is None or not scope_ids:
            return None
        filters.prepare(index.connection)
        return cls(index.connection, scope_ids)

    def join(
        self, notes: Notes, asked: Iterable[str], filters: "Filters", matches: "Matches"
    ) -> None:
        """Add the chunks that have any of the words to those which were found in the notes."""
        highest = {
            word: max(scores.values(), default=0.0)
            for word, scores in matches.by_word.items()
        }
        rarest = max(highest.values(), default=0.0) or 1.0
        for word in asked:
            rows = fts_search.find(
                self.connection,
                self.scope_ids,
                [word],
                filters,
                most=fts_search.MOST_ROWS,
            ).found
            if not rows or not (
                score := highest.get(word) or _rare(notes, word, filters, rarest)
            ):
                continue
            matches.by_word.setdefault(word, {}).update(
                dict.fromkeys((place + BEYOND for place in rows), score)
            )
            for place, id_, date, who, body in rows.values():
                matches.found[place + BEYOND] = (place + BEYOND, -id_, date, who, body)

    def paths(self, notes: Iterable[int]) -> dict[int, str]:
        """The paths of those of these notes that wait, by the ids that they have among the others."""
        first = BEYOND // scoring.ORDINALS
        own = [note - first for note in notes if note >= first]
        return {
            note + first: path
            for note, path in fts_search.paths(
                self.connection, self.scope_ids, own
            ).items()
        }


def is_waiting(chunk_id: int) -> bool:
    """Whether a chunk that was found is one of these."""
    return chunk_id < 0


def own_ids(chunk_ids: Collection[int]) -> list[int]:
    """The ids that those of the found chunks have here which are of these."""
    return [-one for one in chunk_ids if is_waiting(one)]


def _rare(notes: Notes, word: str, filters: "Filters", score: float) -> float:
    """What a word says that no chunk was found by: the most when none has it, nothing when very many do.

    Only the notes that are asked count. A word in somebody else's note must neither hide what waits
    here, nor be told by that.
    """
    is_frequent = bool(
        fts_search.find(
            notes.connection, notes.scope_ids, [word], filters, most=1
        ).found
    )
    return 0.0 if is_frequent else score
