"""Reads the values of a fact from the words after a phrase: one, the last of several moves, or a list."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vault_memory.rules.learning.attribute_values import DATED, is_date, split_begin
from vault_memory.rules.sentences.sentence_splitter import with_point

LONGEST_OBJECT = 60
LONGEST_ITEM = 6
"""Words of an item of a list"""
_HARD_END = r"[;!?()。；！？—–:：…]|\.\."
_COMMA = r"\s*[,，、]\s*"

Listing = Literal["", "commas", "all"]
"""The lists of values that a phrase takes: none, those with a comma, or all, as "A and B" is one"""


@dataclass(frozen=True, slots=True)
class FactValues:
    """The values of a fact."""

    objects: tuple[str, ...] = ()
    since: str = ""
    """the words that say since when, e.g. "in March" """


@dataclass(frozen=True, slots=True)
class StatementEnd:
    """The rest of a statement from the value on."""

    text: str
    hidden: str
    """the same length, with quotations hidden"""

    def after(self, position: int) -> "StatementEnd":
        """Returns the rest from a position on."""
        return StatementEnd(self.text[position:], self.hidden[position:])


class ValueReader:
    """The words of one language that divide and end values."""

    def __init__(
        self,
        table: Mapping[str, Any],
        any_of: Callable[[Iterable[str]], str],
        edges: re.Pattern[str],
    ) -> None:
        self._edges = edges
        self._spaced = bool(table.get("spaces", True))
        blank = r"\s" if self._spaced else ""
        small = r"(?=\s+(?:[^\W\d_A-ZÀ-ÞА-Я]|I\b))"
        ends = set(table["ends"])
        self._end = re.compile(rf"[,，、]|{_HARD_END}|\s(?:{any_of(ends)}){small}")
        # "I speak Spanish with my mother", but "I love coffee with milk"
        list_ends = {"all": ends - {*table["lists"]}}
        list_ends["commas"] = list_ends["all"] - {*table["company"]}
        self._list_ends = {
            listing: re.compile(rf"{_HARD_END}|\s(?:{any_of(words)}){small}")
            for listing, words in list_ends.items()
        }
        conjunction = rf"{blank}+(?:{any_of(table['lists'])}){blank}+"
        if not self._spaced:
            conjunction = any_of(table["lists"])
        self._comma = re.compile(_COMMA)
        self._between = re.compile(
            rf"(?P<comma>{_COMMA}(?:{any_of(table['lists'])}{blank}+)?)|{conjunction}", _I
        )
        no_items = {
            *table["pronouns"],
            *table["ends"],
            *table["no_items"],
            *table["fillers"],
            *table["tails"],
        }
        word_end = r"(?!\w)" if self._spaced else ""
        self._no_item = re.compile(rf"(?:{any_of(no_items)}){word_end}", _I)
        self._repeated = re.compile(rf"\A(?:{any_of(table['repeated'])})\s*", _I)
        self._tail = re.compile(rf"[\s,]*(?:{any_of(table['tails'])})\s*$", _I)
        before = r"(?<!\w)" if self._spaced else ""
        self._then = re.compile(rf"{before}(?:{any_of(table['then'])})", _I)
        self._past = re.compile(rf"(?:{before}|(?=,))(?:{any_of(table['past'])})", _I)

    def one(self, statement: StatementEnd, predicate: str, *, is_move: bool) -> FactValues:
        """Returns the value at the beginning of a text; of a move, the last place that is named."""
        value = self._last_place(statement) if is_move else statement
        end = self._end.search(value.hidden)
        words = value.text[: end.start()] if end else value.text
        fact_object, since = self._dated(self._trimmed(words), predicate)
        if end and not since:
            since = _date_after_comma(value.text[end.start() :])
        # Fault: "We moved to Lübeck, the flat was lovely" tells of another time.
        if is_move and not since and self._past.search(statement.hidden):
            return FactValues()
        return FactValues(_of_right_length([fact_object]), since)

    def _last_place(self, statement: StatementEnd) -> StatementEnd:
        last = statement
        for match in self._then.finditer(statement.hidden):
            following = statement.after(match.end())
            # "And to be honest" names no place.
            if statement.text.islower() or not following.text.lstrip()[:1].islower():
                last = following
        return last

    def listed(self, statement: StatementEnd, listing: Listing) -> FactValues:
        """Returns the values of the list at the beginning of a text."""
        spans = list(self._items(statement, listing))
        first, last = spans[0].start, spans[-1].stop
        has_comma = self._comma.search(statement.hidden, first, last) is not None
        if listing == "commas" and not has_comma:
            # "fish and chips" is one thing.
            spans = [slice(first, last)]
        items = (self._trimmed(statement.text[span]) for span in spans)
        bare = (self._repeated.sub("", item) for item in items)
        values = (self._trimmed(self._tail.sub("", item)) for item in bare)
        return FactValues(_of_right_length(values))

    def _items(self, statement: StatementEnd, listing: Listing) -> Iterator[slice]:
        """Yields the places of the items, up to the end of the clause or to another clause."""
        end = self._list_ends[listing].search(statement.hidden)
        stop = end.start() if end else len(statement.text)
        start = 0
        for match in [*self._between.finditer(statement.hidden, 0, stop), None]:
            span = slice(start, match.start() if match else stop)
            if start and not self._is_item(statement.text[span]):
                return
            yield span
            start = match.end() if match else stop

    def _dated(self, value: str, predicate: str) -> tuple[str, str]:
        """Returns a value without words such as "now" and "in March", and the latter."""
        without_tail = self._trimmed(self._tail.sub("", value))
        if predicate not in DATED:
            return without_tail, ""
        # A date may be such words, too: "since March".
        value, since = split_begin(value)
        if since:
            return self._trimmed(self._tail.sub("", value)), since
        value, since = split_begin(without_tail)
        return self._trimmed(value), since

    def _is_item(self, text: str) -> bool:
        item = self._repeated.sub("", text.strip(), count=1)
        if not item or len(item.split()) > LONGEST_ITEM:
            return False
        return self._no_item.match(item) is None

    def _trimmed(self, text: str) -> str:
        return with_point(self._edges.sub("", text), text)


def _date_after_comma(text: str) -> str:
    clause = re.split(r"[,，;；]", text[1:])[0] if text[:1] in ",，" else ""
    return clause.strip() if clause.strip() and is_date(clause.split()) else ""


def _of_right_length(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if 0 < len(value) <= LONGEST_OBJECT))


_I = re.IGNORECASE
