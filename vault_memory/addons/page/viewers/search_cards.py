"""Hits of a search as cards, one a note, with the words of the query marked."""

import re
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from vault_memory.addons.page.note_html.hidden_letters import visible
from vault_memory.addons.page.wording import days_named, note_title, person
from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.edits.record_sentences import words_of
from vault_memory.rules.facts.fact import read_fact
from vault_memory.rules.search import tokens
from vault_memory.search.matched_words import MatchedWords

if TYPE_CHECKING:
    from vault_memory.contract.answers import HitJson, SearchAnswerJson

ANSWERS = "Answers"
EARLIER = "Earlier"
"""Facts that have ended"""
NEAREST = "Nearest in meaning"
MOST_NOTES = 10
"""Of a view"""
LONGEST = 240
"""Letters of a line"""
STEP = " › "
"""Between the headings above a hit"""
_WORD = re.compile(r"""[^\s!"$-&(-*,./:-@\[-`{-~‐-‘“-⁞]+""")
"""Letters, digits, and the signs of `C++`, `C#` and `lock-keeper's`"""


class MatchedLine(NamedTuple):
    """A line of a note that a search found."""

    hit: "HitJson"
    text: str
    """what it says"""
    below: str
    """the heading above it; empty for a fact, which names its subject"""
    key: str
    """names the line in the view of its note"""
    has_words: bool
    """whether it, its heading or its note has a word, a name or a day of the query"""


class SearchCard(NamedTuple):
    """A note with the lines that a search found, the best first."""

    group: str
    lines: list[MatchedLine]


def search_cards(answer: "SearchAnswerJson", words: MatchedWords) -> list[SearchCard]:
    """Returns the notes in the order of their best lines. Ended facts are a note of their own."""
    by_note: dict[tuple[str, bool], list[MatchedLine]] = {}
    for hit in answer["hits"]:
        by_note.setdefault((hit["note"], "ended" in hit), []).append(_line(hit, words))
    all_lines = chain.from_iterable(by_note.values())
    has_words = "unsure" not in answer and any(line.has_words for line in all_lines)
    notes = (_note(ended, lines, has_words) for (_, ended), lines in by_note.items())
    ranked = enumerate(note for note in notes if note.lines)
    return [note for rank, note in ranked if rank < MOST_NOTES or note.group != NEAREST]


def _note(ended: bool, lines: list[MatchedLine], has_words: bool) -> SearchCard:
    with_words = [line for line in lines if has_words and line.has_words]
    # Beside a line with a word are lines that have neither the word nor its meaning.
    near = [line for line in lines if not has_words or "vector" in line.hit["why"]["arms"]]
    group = EARLIER if ended else ANSWERS if with_words else NEAREST
    return SearchCard(group, with_words or near)


def _line(hit: "HitJson", words: MatchedWords) -> MatchedLine:
    heading = hit["heading"].rpartition(STEP)[2]
    item = " ".join(hit["text"].partition(" ")[2].split())
    fact = read_fact(item, heading) if hit["kind"] == "facts" else None
    if fact:
        text = f"{person(fact.subject)} {fact.predicate.replace('_', ' ')} {fact.object}"
    else:
        text = " ".join(words_of(line.encode(errors="replace")) for line in hit["text"].split("\n"))
    # The heading of a transcript is the id of a conversation.
    below = "" if fact or hit["kind"] == "transcript" else days_named(heading)
    has_words = words.are_in(f"{text} {below} {note_title(hit['note'])}")
    return MatchedLine(
        hit,
        days_named(text),
        below,
        short_hash(hit["note"], heading, item),
        has_words or not {"date", "entity"}.isdisjoint(hit["why"]["arms"]),
    )


def marked(text: str, words: MatchedWords) -> Markup:
    """Returns a text as HTML in which these words are marked, cut around the first of them."""
    text = visible(text)
    flags = _flags(text, words)
    first = flags.find(True)
    start = 0
    if first > LONGEST - LONGEST // 4:
        start = text.rfind(" ", 0, first - LONGEST // 4) + 1 or first
    excerpt = range(start, min(start + LONGEST, len(text)))
    fragments = ["…"] if start else []
    for is_marked, places in groupby(excerpt, flags.__getitem__):
        letters = "".join(map(text.__getitem__, places))
        fragments.append(Markup("<mark>{}</mark>").format(letters) if is_marked else letters)
    if len(text) > excerpt.stop:
        fragments.append("…")
    return Markup().join(fragments)


def _flags(text: str, words: MatchedWords) -> bytearray:
    """Returns for each letter whether it is of one of these words."""
    flags = bytearray(len(text))
    # Most lines have none of the words.
    for word in _WORD.finditer(text) if words.are_in(text) else ():
        start = word.start()
        for is_run, letters in groupby(word[0], tokens.is_run):
            run = "".join(letters)
            for place, token in enumerate(tokens.pairs(run) if is_run else [run], start):
                if words.are_in(token):
                    length = 1 if is_run and words.are_in(token[0]) else len(token)
                    flags[place : place + length] = b"\1" * length
            start += len(run)
    return flags
