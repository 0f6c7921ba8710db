"""Caches the answers of a process to recent questions, until anything in the index changes.

Bots ask the same questions again and again: a hook asks for each prompt, and a page asks when it is
opened. Counts of reads are in the index, so a fold drops the answers, too.
"""

from collections.abc import Hashable
from weakref import ref

from vault_memory.index.store import Index
from vault_memory.search.calls import SearchQuery
from vault_memory.search.results import Answer

MOST = 500
"""Answers"""


class HotCache:
    """The answers of one index, which one thread at a time uses."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, Answer] = {}
        """the latest last"""
        self._counter = -1
        self._index: ref[Index] | None = None

    def get(self, index: Index, key: Hashable) -> Answer | None:
        """Returns the answer to a question; None after any change of the index."""
        counter = index.change_counter
        is_same = self._index is not None and self._index() is index
        # Any process may have written; an older answer could show a forgotten text.
        if not is_same or counter != self._counter:
            self._answers.clear()
            self._counter = counter
            self._index = ref(index)
            return None
        answer = self._answers.pop(key, None)
        if answer is not None:
            self._answers[key] = answer
        return answer

    def put(self, index: Index, key: Hashable, answer: Answer) -> None:
        """Caches an answer that was computed right after `get`."""
        # Another process may have written while the answer was computed.
        if index.change_counter != self._counter:
            return
        if len(self._answers) >= MOST:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = answer


def key_of(query: SearchQuery, model: str) -> Hashable:
    """Returns the key of a question; `model` is the fingerprint of the embedder, if any.

    Of the time only the day counts.
    """
    fields = query._asdict() | {
        "scopes": tuple(query.scopes),
        "kinds": tuple(sorted(query.kinds)),
        "now": query.now.date(),
    }
    return (*fields.values(), model)
