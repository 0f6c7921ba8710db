"""Finds the lines that no longer hold, and ranks an ended fact below the one that holds instead.

A line has ended when it is struck through as a whole, or when a newer statement replaced it. A fact has
also ended after its last day, and when a later value of a single-valued predicate holds. Words do not
tell the two apart: the old line has the words of the question as well as the new one.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from vault_memory.index import fact_queries, note_queries
from vault_memory.index.chunk_rows import SEPARATOR
from vault_memory.index.fact_queries import FactInNote
from vault_memory.index.note_queries import ChunkDetails
from vault_memory.markdown.item_text import MARKER, unescaped
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.facts.fact import Fact, folded
from vault_memory.rules.learning import twins
from vault_memory.rules.search import query_features
from vault_memory.rules.search.scoring import WEIGHTS
from vault_memory.search import fusion
from vault_memory.search.candidates import CandidateRequest, Candidates, in_order
from vault_memory.search.fusion import Ranked

STEP = 0.001
"""By how much an ended fact is below the one that holds instead"""
_STRUCK = re.compile(r"~~(?![~\s])[^~]++~~\s*+(?:\([^()]*+\))?\s*+(?:\^[\w-]++)?\s*+")


class Validity(NamedTuple):
    """What decides whether a fact holds."""

    day: date
    single: Collection[str]
    """Predicates that have one value at a time"""


class _FactLine(NamedTuple):
    """A candidate that is a fact."""

    place: int
    note: str
    fact: Fact


class _Rivals(NamedTuple):
    """The facts of a scope about one subject with one predicate."""

    facts: Sequence[FactInNote]
    """Each with its note"""
    holding: frozenset[str]
    """The ids of those that hold"""

    def holds(self, fact: Fact) -> bool:
        """Whether this line of a fact holds."""
        if fact.id not in self.holding:
            return False
        # Fault: a person may have written a fact again below its struck line, with the same id.
        return not fact.struck or all(copy.struck for _, copy in self.facts if copy.id == fact.id)

    def heirs(self, ended: Fact, single: Collection[str]) -> list[FactInNote]:
        """Returns the facts that hold and replaced this one, at once or one after another."""
        heirs: list[FactInNote] = []
        left = [ended]
        seen = {ended.id}
        while left:
            older = left.pop()
            for note, fact in self.facts:
                if fact.id in seen or not _follows(fact, older, single):
                    continue
                seen.add(fact.id)
                left.append(fact)
                if self.holds(fact):
                    heirs.append((note, fact))
        return heirs


def _follows(fact: Fact, older: Fact, single: Collection[str]) -> bool:
    if fact.predicate in single or fact.supersedes == older.id:
        return True
    return facts_fact.ends(older) == fact.valid_from


def by_validity(
    request: CandidateRequest,
    candidates: Candidates,
    ranked: list[Ranked],
    validity: Validity,
    limit: int,
) -> list[Ranked]:
    """Returns the candidates with each ended fact below those that hold in its place.

    Notes in `candidates` which of the first `limit` have ended.
    """
    ended, lines = _suspects(request, candidates, ranked[:limit])
    if not ended and not lines:
        return ranked
    order = _Order(request, candidates, ranked, validity)
    for place in ended:
        order.lower(place)
    ended.update(order.settle(lines))
    candidates.ended = frozenset(candidates.rows[place][1] for place in ended)
    return in_order(request, order.ranked())


def _suspects(
    request: CandidateRequest, candidates: Candidates, ranked: Sequence[Ranked]
) -> tuple[set[int], list[_FactLine]]:
    """Returns the places of lines that say themselves that they ended, and the facts."""
    places: dict[int, int] = {}
    for _, place, _ in ranked:
        _, id_, _, _, text = candidates.rows[place]
        if query_features.may_have_ended(text):
            places[id_] = place
    if not places:
        return set(), []
    details = note_queries.details_of(request.store, request.scope_ids, places)
    ended: set[int] = set()
    lines: list[_FactLine] = []
    for id_, place in places.items():
        detail = details.get(id_)
        if detail is None or detail.kind == "transcript":
            continue
        fact = _fact_of(detail) if detail.kind == "facts" else None
        if fact is not None:
            lines.append(_FactLine(place, detail.path, fact))
        elif _has_ended(detail):
            ended.add(place)
    return ended, lines


def _own_text(text: str) -> str:
    """Returns the text of an item in one line, without its marker and the items nested in it."""
    marker = MARKER.match(text)
    first, *others = text[marker.end() if marker else 0 :].split("\n")
    own = [first]
    for line in others:
        if MARKER.match(line):
            break
        own.append(line)
    return unescaped(" ".join(" ".join(own).split()))


def _fact_of(detail: ChunkDetails) -> Fact | None:
    subject = detail.heading.rpartition(SEPARATOR)[2]
    return facts_fact.read_fact(_own_text(detail.text), subject, detail.scope)


def _has_ended(detail: ChunkDetails) -> bool:
    """Whether a line that is no fact is struck through, or lost against a newer statement."""
    text = _own_text(detail.text)
    if _STRUCK.fullmatch(text):
        return True
    # A fact page has remarks of a person, whose words about confidence mean nothing.
    return detail.kind != "facts" and "conf:" in text and twins.is_lost(text)


class _Order:
    """The scores of the candidates while ended facts are put below others."""

    def __init__(
        self,
        request: CandidateRequest,
        candidates: Candidates,
        ranked: Sequence[Ranked],
        validity: Validity,
    ) -> None:
        self._request = request
        self._candidates = candidates
        self._validity = validity
        self._ranked = {candidate[1]: candidate for candidate in ranked}
        # The ranks of the plainer modes are sums of other terms, on another scale.
        self._is_sum = not any(map(_is_complete, ranked[:1]))

    def ranked(self) -> list[Ranked]:
        """Returns the candidates with their scores as they are now."""
        return list(self._ranked.values())

    def lower(self, place: int) -> None:
        """Takes from the score of a line that has ended."""
        if self._is_sum:
            self._set(place, self._score(place) + WEIGHTS.ended, "ended")

    def settle(self, lines: Sequence[_FactLine]) -> set[int]:
        """Puts each ended fact below those that hold; returns the places of the ended ones."""
        ended: set[int] = set()
        for rivals, group in self._grouped(lines):
            holding = [line for line in group if rivals.holds(line.fact)]
            over = [line for line in group if not rivals.holds(line.fact)]
            coming = [line for line in over if self._begins_later(line.fact)]
            over = [line for line in over if line not in coming]
            for line in over:
                self.lower(line.place)
            ended.update(line.place for line in over)
            if over:
                self._put_below(rivals, holding, over)
            self._put_above_turns(holding)
        return ended

    def _put_above_turns(self, lines: Sequence[_FactLine]) -> None:
        """Puts each fact with one value at a time above earlier turns with the same words."""
        # Fault: "I live in Flensburg", said years ago, has the words of the question as well as the fact.
        for line in lines:
            if line.fact.predicate in self._validity.single:
                best = max(map(self._score, self._earlier_turns(line)), default=None)
                if best is not None and best >= self._score(line.place):
                    self._set(line.place, best + STEP, "successor")

    def _earlier_turns(self, line: _FactLine) -> Iterator[int]:
        """Yields the places of turns before a fact that have no word of the query which it lacks."""
        others: set[int] = set()
        for scores in self._candidates.by_word.values():
            if line.place not in scores:
                others.update(scores)
        begin = line.fact.valid_from
        for place in self._ranked.keys() - others:
            _, _, day, who, _ = self._candidates.rows[place]
            if who and (begin is None or not day or day <= begin.isoformat()):
                yield place

    def _begins_later(self, fact: Fact) -> bool:
        return not fact.struck and facts_fact.begins(fact) > self._validity.day

    def _put_below(
        self, rivals: _Rivals, holding: Sequence[_FactLine], over: Sequence[_FactLine]
    ) -> None:
        single = self._validity.single
        heirs = {
            fact.id: (note, fact) for line in over for note, fact in rivals.heirs(line.fact, single)
        }
        places = [line.place for line in holding if line.fact.id in heirs]
        places = places or self._read(heirs.values())
        if places:
            best = max(places, key=self._score)
            highest = max(self._score(line.place) for line in over)
            if self._score(best) < highest:
                self._set(best, highest, "successor")
            lowest = self._score(best)
        elif holding:
            lowest = min(self._score(line.place) for line in holding)
        else:
            return
        for line in over:
            if self._score(line.place) > lowest - STEP:
                self._set(line.place, lowest - STEP, "ended")

    def _read(self, heirs: Iterable[FactInNote]) -> list[int]:
        """Returns the places of facts; those that are no candidates become some."""
        places: list[int] = []
        request = self._request
        for heir in heirs:
            row = fact_queries.line_of(request.store, request.scope_ids, heir, request.filters)
            if row is None or row[1] in self._candidates.without.ids:
                continue
            place = row[0]
            places.append(place)
            if place not in self._ranked:
                self._candidates.rows.setdefault(place, row)
                self._ranked[place] = self._added(place)
        return places

    def _added(self, place: int) -> Ranked:
        """Returns a candidate that the search did not rank."""
        if self._is_sum:
            candidate: Ranked = (0.0, place, {})
            terms = fusion.explained(self._request, self._candidates, candidate)
            return -sum(terms.values()), place, {}
        some = next(iter(self._ranked.values()))
        return 0.0, place, dict.fromkeys(some[2], 0.0)

    def _score(self, place: int) -> float:
        return -self._ranked[place][0]

    def _set(self, place: int, score: float, term: str) -> None:
        negative, _, terms = self._ranked[place]
        change = score + negative
        terms = {**terms, term: terms.get(term, 0.0) + change}
        self._ranked[place] = (-round(score, fusion.DIGITS), place, terms)

    def _grouped(self, lines: Sequence[_FactLine]) -> list[tuple[_Rivals, list[_FactLine]]]:
        """Returns the lines by scope, subject and predicate, with all facts of each group."""
        if not lines:
            return []
        facts = self._facts_beside(lines)
        names = {
            scope: facts_fact.canonical(fact for _, fact in rows) for scope, rows in facts.items()
        }
        groups: dict[tuple[str, str, str], list[_FactLine]] = {}
        for line in lines:
            groups.setdefault(_key(line.fact, names), []).append(line)
        holding = {
            scope: frozenset(
                fact.id
                for fact in facts_fact.current(
                    [fact for _, fact in rows], self._validity.day, self._validity.single
                )
            )
            for scope, rows in facts.items()
        }
        return [
            (
                _Rivals(
                    [row for row in facts.get(key[0], ()) if _key(row[1], names) == key],
                    holding.get(key[0], frozenset()),
                ),
                group,
            )
            for key, group in groups.items()
        ]

    def _facts_beside(self, lines: Sequence[_FactLine]) -> dict[str, list[FactInNote]]:
        """Returns by scope the facts with the subjects and predicates of these lines."""
        index, scope_ids = self._request.store, self._request.scope_ids
        subjects = {folded(line.fact.subject) for line in lines}
        for alias, entity in fact_queries.aliases(index, scope_ids):
            if alias in subjects or entity in subjects:
                subjects.update((alias, entity))
        predicates = {line.fact.predicate for line in lines}
        by_scope: dict[str, list[FactInNote]] = {}
        for note, fact in fact_queries.facts_with(
            index, scope_ids, subjects, {*predicates, facts_fact.ALIAS}
        ):
            by_scope.setdefault(fact.scope, []).append((note, fact))
        return by_scope


def _key(fact: Fact, names: Mapping[str, Mapping[str, str]]) -> tuple[str, str, str]:
    subject, predicate = fact.key
    return fact.scope, names.get(fact.scope, {}).get(subject, subject), predicate


def _is_complete(candidate: Ranked) -> bool:
    return not candidate[2].keys().isdisjoint(fusion.COMPLETE)
