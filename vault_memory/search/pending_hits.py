"""Finds text that waits to be written into its note, and marks its hits as pending.

Waiting text is in an index of its own, which is searched in the same way. Its places and ids are
moved out of the range of the others. The weight of a word comes from the notes: among the few
texts that wait, no word is rare.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.index import fts_search
from vault_memory.index.store import Index
from vault_memory.rules.search import scoring

if TYPE_CHECKING:
    from vault_memory.index.filters import Filters
    from vault_memory.index.fts_search import Matches, Row

BEYOND = (1 << 30) * scoring.ORDINALS
"""Higher than any place in an index"""


class Notes(NamedTuple):
    """The written notes that a search reads."""

    store: Index
    scope_ids: Sequence[int]


class PendingHits(NamedTuple):
    """The waiting text of some scopes."""

    store: Index
    scope_ids: tuple[int, ...]

    @classmethod
    def of(
        cls, index: Index | None, scopes: Sequence[str], filters: "Filters"
    ) -> "PendingHits | None":
        """Opens the waiting text of these scopes; None when there is no such text."""
        if index is None:
            return None
        scope_ids = tuple(index.scope_ids(scopes))
        if not scope_ids:
            return None
        fts_search.prepare(index, filters)
        return cls(index, scope_ids)

    def join(
        self, notes: Notes, words: Iterable[str], filters: "Filters", matches: "Matches"
    ) -> None:
        """Adds the waiting chunks that have any of the words to the matches in the notes."""
        highest = {
            word: max(scores.values(), default=0.0) for word, scores in matches.by_word.items()
        }
        rarest = max(highest.values(), default=0.0) or 1.0
        for word in words:
            rows = self._rows(word, filters)
            if not rows:
                continue
            score = highest.get(word) or _rare_score(notes, word, filters, rarest)
            if not score:
                continue
            scores = matches.by_word.setdefault(word, {})
            for place, id_, date, who, body in rows:
                scores[place + BEYOND] = score
                matches.rows[place + BEYOND] = (place + BEYOND, -id_, date, who, body)

    def _rows(self, word: str, filters: "Filters") -> "Collection[Row]":
        matches = fts_search.find(
            self.store, self.scope_ids, [word], filters, most=fts_search.MOST_ROWS
        )
        return matches.rows.values()

    def paths(self, notes: Iterable[int]) -> dict[int, str]:
        """Returns the paths of the waiting notes among these, by their shifted ids."""
        first = BEYOND // scoring.ORDINALS
        own_notes = [note - first for note in notes if note >= first]
        paths = fts_search.paths(self.store, own_notes)
        return {note + first: path for note, path in paths.items()}


def is_waiting(chunk_id: int) -> bool:
    """Whether the chunk of a hit waits to be written."""
    return chunk_id < 0


def own_ids(chunk_ids: Collection[int]) -> list[int]:
    """Returns the ids that the waiting chunks among these have in their own index."""
    return [-chunk_id for chunk_id in chunk_ids if is_waiting(chunk_id)]


def _rare_score(notes: Notes, word: str, filters: "Filters", score: float) -> float:
    """Weighs a word without a score in the notes: `score` when no chunk has it, else 0.

    A word that very many chunks have gets no score there. Only the notes of the search count: a
    word in a note of another scope must neither hide waiting text, nor be revealed by it.
    """
    frequent = fts_search.find(notes.store, notes.scope_ids, [word], filters, most=1).rows
    return 0.0 if frequent else score
