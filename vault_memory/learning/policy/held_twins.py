"""Finds the held candidate that a new one repeats, in the same words or nearly so."""

from collections.abc import Mapping

from vault_memory.rules.learning.policy.held_candidates import HeldCandidate
from vault_memory.rules.learning.twins import TwinIndex


class HeldTwins:
    """The candidates of a ledger, indexed by kind at the first look."""

    def __init__(self, ledger: Mapping[str, HeldCandidate]) -> None:
        self._ledger = ledger
        self._indexes: dict[str, TwinIndex] = {}
        self._ids: dict[str, list[str]] = {}

    def find(self, candidate: HeldCandidate) -> HeldCandidate | None:
        """Returns the held candidate with the same id, else one that says the same."""
        if candidate.id in self._ledger:
            return self._ledger[candidate.id]
        index = self._index_of(candidate.kind)
        twin = index.find(candidate.text)
        # Fault: a rival, such as another number, is no repetition.
        if twin is None or not twin.is_duplicate:
            return None
        return self._ledger[self._ids[candidate.kind][twin.position]]

    def add(self, candidate: HeldCandidate) -> None:
        """Adds a candidate that is new in the ledger."""
        self._index_of(candidate.kind).add(candidate.text)
        self._ids[candidate.kind].append(candidate.id)

    def _index_of(self, kind: str) -> TwinIndex:
        if kind not in self._indexes:
            candidates = [
                candidate for candidate in self._ledger.values() if candidate.kind == kind
            ]
            texts = [candidate.text for candidate in candidates]
            # Fault: "I hate myself and rain" would be a repetition of "I hate myself".
            self._indexes[kind] = TwinIndex(texts, contained=False)
            self._ids[kind] = [candidate.id for candidate in candidates]
        return self._indexes[kind]
