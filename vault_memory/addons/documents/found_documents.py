"""Joins the documents that answer a query with the notes that do. The notes come first.

The scores of two indexes cannot be compared. So a document goes before a note only when it has more
words of the query than this note and all that follow it, and at least half of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, get_args

from vault_memory.addons.documents import pdf_reader
from vault_memory.contract import ItemState
from vault_memory.index.store import Index
from vault_memory.rules.search import tokens
from vault_memory.search import query as search_query
from vault_memory.search.results import Hit, Why

if TYPE_CHECKING:
    from vault_memory.search.calls import SearchQuery
    from vault_memory.search.freshness import SearchAnswer

NOT_READ = "its text is not read yet"
NO_LIBRARY = "its text is not read: the extra `documents` is missing"
MOST_WAITING = 10
"""Documents that an answer names as not read yet; `doctor` counts all"""
SHORTEST_BEGINNING, LONGEST_ENDING = 4, 3
"""Letters that two forms of a word share at least, and that one may have more"""


def joined(index: Index, query: "SearchQuery", answer: "SearchAnswer") -> "SearchAnswer":
    """Returns an answer with the documents of its scopes; those that wait are not up to date."""
    # Two files of one name are two documents.
    own_answer = search_query.search(index, query._replace(copies=True))
    reasons = {path: reason for path, (reason, _) in index.parked().items()}
    reasons |= dict.fromkeys(index.stale(), NOT_READ if pdf_reader.is_installed() else NO_LIBRARY)
    waiting = (path for path, reason in reasons.items() if reason == NOT_READ)
    in_scopes = (path for path in waiting if index.scope_of(path) in query.scopes)
    stale = {*answer.freshness.stale_files, *islice(in_scopes, MOST_WAITING)}
    answer = answer._replace(freshness=answer.freshness._replace(stale_files=tuple(sorted(stale))))
    documents = [_with_remark(hit, reasons) for hit in own_answer.hits]
    if not documents:
        return answer
    hits = _merged(answer.hits, documents, own_answer.terms, room=(query.limit + 1) // 2)
    # What explains an answer without hits explains no longer.
    return answer._replace(
        hits=tuple(hits)[: query.limit],
        left_out=_without_filters(answer.left_out, query),
        words_missing=False,
        unsure=answer.unsure and own_answer.unsure,
        unknown_filters=(),
    )


def _without_filters(left_out: Mapping[str, int], query: "SearchQuery") -> Mapping[str, int]:
    """Returns what was left out, without the filters, which explain an answer without hits."""
    states = get_args(ItemState)
    return {name: count for name, count in left_out.items() if query.why or name in states}


def _with_remark(hit: Hit, remarks: Mapping[str, str]) -> Hit:
    """Returns a hit on a name with what is not read of its file."""
    is_name = hit.text == hit.note.rpartition("/")[2]
    if not is_name or hit.note not in remarks:
        return hit
    return replace(hit, text=f"{hit.text} ({remarks[hit.note]})")


def _merged(
    notes: Sequence[Hit], documents: Sequence[Hit], terms: Sequence[str], *, room: int
) -> Iterator[Hit]:
    """Yields the hits of both, best first; at most `room` documents go before a note."""
    counts = [_count_words(hit, terms) for hit in notes]
    ordered = sorted(documents, key=lambda hit: -_count_words(hit, terms))
    for number, note in enumerate(notes):
        fewest = max(max(counts[number:]) + 1, len(terms) / 2)
        early = [hit for hit in ordered[:room] if _count_words(hit, terms) >= fewest]
        yield from (_scored(hit, note.score) for hit in early)
        ordered, room = ordered[len(early) :], room - len(early)
        yield note
    # An answer is in the order of its scores, whichever index a hit is from.
    lowest = notes[-1].score if notes else float("inf")
    for hit in ordered:
        lowest = min(lowest, hit.score)
        yield _scored(hit, lowest)


def _scored(hit: Hit, score: float) -> Hit:
    """Returns a hit with the score of its place among the notes."""
    why = hit.why
    if why is not None:
        why = Why({**why.terms, "place": score - hit.score}, why.arms)
    return replace(hit, score=score, why=why)


def _count_words(hit: Hit, terms: Sequence[str]) -> int:
    """Counts the words of the query that a hit has, in any form."""
    by_beginning: dict[str, list[str]] = {}
    for word in tokens.words(f"{hit.note} {' '.join(hit.heading)} {hit.text}"):
        by_beginning.setdefault(word[:SHORTEST_BEGINNING], []).append(word)
    return sum(
        any(_is_form(word, term) for word in by_beginning.get(term[:SHORTEST_BEGINNING], ()))
        for term in terms
    )


def _is_form(word: str, term: str) -> bool:
    beginning = max(SHORTEST_BEGINNING, max(len(word), len(term)) - LONGEST_ENDING)
    return word[:beginning] == term[:beginning]
