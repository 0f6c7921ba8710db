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
from vault_memory.cli.views.matched_words import marker
from vault_memory.cli.views.screen import Screen, cells, wrapped, wrapped_cells
from vault_memory.cli.views.times import time_text
from vault_memory.contract import NEAREST_IN_MEANING

if TYPE_CHECKING:
    from vault_memory.contract.answers import HitJson, SearchAnswerJson

GAP = "  "
_BLOCK = re.compile(r"\s*([-*+>#]|\d+[.)]\s|$)")
_KEPT_LINES = ("```", "~~~", "|")
_LIST_MARKS = ("- ", "* ", "+ ")


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
