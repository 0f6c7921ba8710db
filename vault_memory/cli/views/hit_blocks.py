"""Shows the hits of a search on a terminal: wrapped at words, with the matched words marked."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from vault_memory.cli.search_text import (
    BETWEEN_DETAILS,
    details_of,
    left_out_texts,
    place_of,
    score_text,
)
from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import Screen, cells, wrapped, wrapped_cells
from vault_memory.cli.views.times import time_text
from vault_memory.contract import NEAREST_IN_MEANING
from vault_memory.rules.search.tokens import folded, is_run, terms

if TYPE_CHECKING:
    from vault_memory.contract.answers import HitJson, SearchAnswerJson

GAP = "  "
_BLOCK = re.compile(r"\s*([-*+>#]|\d+[.)]\s|$)")
_KEPT_LINES = ("```", "~~~", "|")
_LIST_MARKS = ("- ", "* ", "+ ")
_WORD = re.compile(r"\w+")
_NOTHING = re.compile(r"(?!)")
SHORTEST_BEGINNING = 4
"""Letters that two words must share from the first on, to be forms of one word"""
LONGEST_ENDING = 3
"""Letters that one form of a word may have more than another"""


def hits_view(answer: "SearchAnswerJson", query: str, screen: Screen) -> str:
    """Return the hits, and the number of hits that each filter removed."""
    mark = marker(query, lambda word: styled(word, bold=True))
    blocks = ["\n".join(_hit_lines(hit, mark, screen)) for hit in answer["hits"]]
    if not blocks:
        blocks.append("nothing found")
    elif answer.get("words_missing"):
        blocks.insert(0, NEAREST_IN_MEANING)
    blocks += left_out_texts(answer)
    # A remark on stderr must not look like a line of the last hit.
    end = "\n" if answer["hits"] else ""
    return "\n\n".join(blocks) + end


def _hit_lines(hit: "HitJson", mark: Callable[[str], str], screen: Screen) -> Iterator[str]:
    place = escaped(place_of(hit))
    details = escaped(details_of(hit, time_text(hit["date"], screen)))
    painted_place = styled(place, fg="cyan")
    # The place stays on a line of its own where both do not fit.
    if cells(place) + len(GAP) + cells(details) <= screen.prose:
        yield painted_place + GAP + styled(details, dim=True)
    else:
        yield painted_place
        texts = details.split(BETWEEN_DETAILS)
        lines = wrapped_cells(texts, screen.prose, gap=BETWEEN_DETAILS, first=GAP)
        for line in lines:
            yield styled(line, dim=True)
    # The lines are marked when they are broken: marks have no width.
    for line in _paragraphs(hit["text"]):
        yield from map(mark, text_lines(line, screen))
    why = hit.get("why")
    if why:
        reasons = escaped(f"why: {score_text(hit['score'], why)}")
        # A term stays beside its number.
        for line in wrapped_cells(reasons.split(GAP), screen.prose, first=GAP):
            yield styled(line, dim=True)


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a note; a line that continues an item or a paragraph is joined to it."""
    lines = text.splitlines()
    # The line ends of a code block and of a table are part of its meaning.
    if any(line.lstrip().startswith(_KEPT_LINES) for line in lines):
        return lines
    joined: list[str] = []
    for line in lines:
        before = joined[-1] if joined else ""
        begins_block = _BLOCK.match(line) is not None
        if begins_block or not before.strip() or before.startswith("#"):
            joined.append(line)
        else:
            joined[-1] = f"{before.rstrip()} {line.strip()}"
    return joined


def text_lines(line: str, screen: Screen) -> list[str]:
    """Return a line of a note in lines that fit; those of a list item hang under its text."""
    plain = escaped(line).replace("\t", GAP)
    text = plain.lstrip(" ")
    depth = len(plain) - len(text)
    if text.startswith(_LIST_MARKS):
        depth += len(GAP)
    following = GAP + " " * min(depth, screen.prose // 4)
    return wrapped(plain, screen.prose, first=GAP, indent=following)


# --- Matched words ---


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that marks the words of the query, and their other forms, in a text."""
    query_terms = terms(query)
    plain_terms = [folded(term).strip() for term in query_terms]
    pairs = _pairs_pattern(query_terms)

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        # A script without blanks: only some letters of such a run match.
        if is_run(word):
            return pairs.sub(lambda letters: mark(letters[0]), word)
        plain = folded(word).strip()
        is_match = any(_is_form(plain, term) for term in plain_terms)
        return mark(word) if is_match else word

    return lambda text: _WORD.sub(marked, text)


def _is_form(word: str, term: str) -> bool:
    """Return whether two words differ at most in their ending, as `lamp` and `lamps`."""
    longest = max(len(word), len(term))
    # Fault: short words that begin alike, as `key` and `keel`, are different words.
    beginning = max(SHORTEST_BEGINNING, longest - LONGEST_ENDING)
    return word[:beginning] == term[:beginning]


def _pairs_pattern(query_terms: list[str]) -> re.Pattern[str]:
    """Return a pattern of the letters in a run that belong to a pair of the query."""
    pairs = [term for term in query_terms if is_run(term)]
    if not pairs:
        return _NOTHING
    choices = "|".join(map(_pair_pattern, pairs))
    return re.compile(f"(?:{choices})+")


def _pair_pattern(pair: str) -> str:
    # Pairs overlap, so each of the two letters is matched by itself.
    first, last = re.escape(pair[:1]), re.escape(pair[1:])
    if not last:
        return first
    return f"{first}(?={last})|(?<={first}){last}"
