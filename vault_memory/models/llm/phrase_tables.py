"""Tables of phrases that announce memories, one TOML file for each language in `phrases/`.

In a phrase `*` matches one to three words, `(a|b)` either alternative, `$` the end, `{name}` the name
of another person, and `{}` the object of the fact, by default at the end; after `>` the words belong to
the object. Case and the kind of apostrophe are ignored. `moves = true`: the phrase names a move, and the
last place of the sentence is the object. `listing` is the kind of lists that are several objects.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from vault_memory.models.llm.phrase_values import FactValues, Listing, StatementEnd, ValueReader
from vault_memory.rules.conversations.quotation_marks import unquoted
from vault_memory.rules.search.tokens import words
from vault_memory.rules.sentences.fillers import filler_tables
from vault_memory.rules.sentences.sentence_splitter import with_point

FOLDER = Path(__file__).parent / "phrases"
_EDGE = r"(?:[:;]-?[()]|[\s.!。！,，;；:：–—-]|[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff])+"
_EDGES = re.compile(rf"^{_EDGE}|{_EDGE}$")
"""Blanks, punctuation and smileys around a statement, which say nothing of it"""
_ASKS = re.compile(r"[?？][\s)!\"”»」]*$")
LONGEST_ASKED = 300
"""Characters of a sentence in which a question around a statement is looked for"""
_WORDS = r"[^\s,;!?]+(?:[ \t]++[^\s,;!?]+){0,2}?"


@dataclass(frozen=True, slots=True)
class Match:
    """The memory in a sentence."""

    text: str
    """A quotation of the sentence"""
    type: str
    predicate: str = ""
    objects: tuple[str, ...] = ()
    """Quotations, too"""
    since: str = ""
    """The words that say since when the fact holds"""
    subject: str = ""
    """The name of whom the sentence is about; empty for the speaker"""


@dataclass(frozen=True, slots=True)
class _Kind:
    expression: str
    """A regular expression; compiled at its first use, because few sentences match any"""
    type: str
    predicate: str
    negated: bool
    """The phrase has a negation, which is a doubt elsewhere"""
    moves: bool
    listing: Listing

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


class Phrases:
    """The table of one language."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._spaced = bool(table.get("spaces", True))
        self._pronouns = "|".join(map(re.escape, table["pronouns"]))
        self._filler = re.compile(
            rf"\A(?:{self._any(table['fillers'])}[\s,，:：]*)+" if table["fillers"] else r"(?!)", _I
        )
        self._request = re.compile(rf"{self._any(table['requests'])}[\s,，:：]*", _I)
        self._warning = re.compile(rf"\A{self._any(table['warnings'])}\s?[,，:：;–—-]\s?", _I)
        self._table = table
        self._kinds = [
            _Kind(
                self._phrase(phrase),
                row["type"],
                row.get("predicate", ""),
                bool(row.get("negated")),
                bool(row.get("moves")),
                row.get("listing", ""),
            )
            for row in table["said"]
            for phrase in row["phrases"]
        ]
        self._any_kind = re.compile(
            "|".join(re.sub(r"\?P<\w+>", "?:", kind.expression) for kind in self._kinds), _I
        )

    # ---- patterns that few sentences need ----------------------------------------------------

    @cached_property
    def _no_request(self) -> re.Pattern[str]:
        return re.compile(self._any(self._table["no_requests"]), _I)

    @cached_property
    def _doubt(self) -> re.Pattern[str]:
        return re.compile(self._any(self._table["doubts"], inside=True), _I)

    @cached_property
    def _values(self) -> ValueReader:
        return ValueReader(self._table, self._any, _EDGES)

    @cached_property
    def _tag(self) -> re.Pattern[str]:
        separator = r"[\s,，;¿]" if self._spaced else r"[，,;\s]?"
        return re.compile(rf"{separator}{self._any(self._table['tags'])}\s?[?？!]*$", _I)

    @cached_property
    def _polite(self) -> re.Pattern[str]:
        lasting = self._any(self._table["lasting"])
        return re.compile(rf"{self._any(self._table['polite'])}(?={lasting})", _I)

    # ---- sentences -----------------------------------------------------------------------------

    def match(self, sentence: str) -> Match | None:
        """Return the memory in a sentence; None for most sentences."""
        statement = self._without_filler(sentence)
        if not statement:
            return None
        request = self._request_in(statement)
        if request is None:
            return self._match_statement(statement)
        return self._match_request(request) if request else None

    def without_tag(self, sentence: str) -> str:
        """Return a sentence without a question such as ", ok?"; the sentence itself without one."""
        tag = self._tag.search(sentence)
        return sentence[: tag.start()].rstrip(" ,，;¿") if tag else sentence

    def asked_politely(self, sentence: str) -> str:
        """Return what "can you always use metric units?" asks for; empty for other sentences."""
        statement = self._without_filler(sentence)
        polite = self._polite.match(statement)
        if polite is None:
            return ""
        return self.without_tag(statement[polite.end() :].rstrip(" ?？!吗嗎"))

    def request(self, sentence: str) -> str:
        """Return the text that a sentence asks to remember; empty when it asks for nothing."""
        return self._request_in(self._without_filler(sentence)) or ""

    def _without_filler(self, sentence: str) -> str:
        # "Zur Erinnerung:" says nothing of what follows, and asks to keep it.
        statement = sentence if self._request.match(sentence) else self._filler.sub("", sentence)
        # "No aspirin please: I am allergic to it" says first what follows from it.
        return self._warning.sub("", statement)

    def _request_in(self, statement: str) -> str | None:
        """Return the text of a request; None for another sentence, and empty for a short text."""
        hidden = unquoted(statement)
        request = self._request.match(hidden)
        if request is None or self._no_request.match(hidden):
            return None
        text = _trimmed(statement[request.end() :])
        return text if self._is_long_enough(text) else ""

    def _match_request(self, statement: str) -> Match:
        """Return the memory of an explicit request; any content is accepted."""
        statement_match = self._match_statement(statement)
        return (
            statement_match
            if statement_match and statement_match.text == statement
            else Match(statement, "context")
        )

    def _match_statement(self, statement: str) -> Match | None:
        # Fault: "Eve says 'I live in Oslo'" tells nothing of the speaker. No phrase counts that is
        # a part of a quotation.
        hidden = unquoted(statement)
        if not self._any_kind.match(hidden):
            return None
        text = _trimmed(statement)
        if not self._is_long_enough(text):
            return None
        is_doubtful = self._doubt.search(hidden) is not None
        for kind in self._kinds:
            match = kind.pattern.match(hidden)
            if match is None or (is_doubtful and not kind.negated):
                continue
            if self._doubt.search(hidden, match.end()):
                return None
            # "I don't like it" says nothing without the turn before.
            if kind.negated and self._is_about_pronoun(statement[match.end() :]):
                return None
            return self._match_of(kind, match, statement)
        return None

    def _is_about_pronoun(self, remainder: str) -> bool:
        edge = r"(?!\w)" if self._spaced else ""
        pattern = rf"\s*(?:{self._pronouns}){edge}"
        return re.match(pattern, remainder, _I) is not None

    def _match_of(self, kind: _Kind, match: re.Match[str], statement: str) -> Match:
        text = _trimmed(statement)
        values = self._values_of(kind, match, statement) if kind.predicate else FactValues()
        if not values.objects:
            return Match(text, kind.type)
        has_name = "name" in match.re.groupindex
        subject = statement[slice(*match.span("name"))] if has_name else ""
        return Match(text, kind.type, kind.predicate, values.objects, values.since, subject)

    def _values_of(self, kind: _Kind, match: re.Match[str], statement: str) -> FactValues:
        groups = match.re.groupindex
        start, end = match.end(), len(statement)
        if "kept" in groups:
            start = match.start("kept")
        elif "object" in groups:
            start = match.start("object")
            # Of "wir sind nach Bern gezogen, dann nach Graz" the last place is sought, too.
            end = end if kind.moves else match.end("object")
        span = StatementEnd(statement[start:end], match.string[start:end])
        if kind.listing:
            return self._values.listed(span, kind.listing)
        return self._values.one(span, kind.predicate, is_move=kind.moves)

    def _is_long_enough(self, statement: str) -> bool:
        return len(statement) >= 4 if not self._spaced else len(statement.split()) >= 2

    def _any(self, phrases: Iterable[str], *, inside: bool = False) -> str:
        inner = (
            "|".join(self._phrase(phrase) for phrase in sorted(phrases, key=len, reverse=True))
            or "(?!)"
        )
        return rf"(?:{self._edge}(?:{inner}))" if inside else f"(?:{inner})"

    @property
    def _edge(self) -> str:
        return r"(?<!\w)" if self._spaced else ""

    @property
    def _name(self) -> str:
        """A name of up to three words. "He is allergic" says nothing about a known person."""
        if self._spaced:
            return rf"(?!(?:{self._pronouns})(?!\w))(?P<name>{_WORDS})"
        return rf"(?!{self._pronouns})(?P<name>[^\s,，。]{{1,8}}?)"

    def _phrase(self, phrase: str) -> str:
        pattern = "".join(
            self._name if token == "{name}" else _PIECES.get(token, re.escape(token))
            for token in re.split(r"(\{name\}|\{\}|[*()|'’$> ])", phrase)
        )
        ends_word = self._spaced and (phrase[-1:].isalnum() or phrase[-1:] == ")")
        # Fault: "j'habite (à|au)" found the beginning of "aux", and the rest became the place.
        return pattern + (r"(?:(?<=[\s'’])|(?!\w))" if ends_word else "")


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, _I)


_I = re.IGNORECASE
_PIECES = {
    "": "",
    "*": _WORDS,
    "(": "(?:",
    ")": ")",
    "|": "|",
    " ": r"[ \t]++",
    "'": "['’]",
    "’": "['’]",
    "$": r"(?=\W*$)",
    ">": r"(?P<kept>)",
    "{}": r"(?P<object>[^,;!?，。；！？]{1,60}?)",
}


def _trimmed(text: str) -> str:
    return with_point(_EDGES.sub("", text), text)


@cache
def tables() -> tuple[Phrases, ...]:
    """Return the tables of all languages; reads them once."""
    return tuple(map(Phrases, raw_tables()))


@cache
def raw_tables() -> tuple[dict[str, Any], ...]:
    """Return the content of the files of all languages; reads them once."""
    return tuple(
        {**filler_tables()[file.stem], **tomllib.loads(file.read_text(encoding="utf-8"))}
        for file in sorted(FOLDER.glob("*.toml"))
    )


def without_question(sentence: str) -> str:
    """Return a sentence without a question around it; empty for a question.

    "Always use metric units, ok?" and "can you always use metric units?" ask for something.
    """
    if len(sentence) > LONGEST_ASKED:
        return "" if _ASKS.search(sentence) else sentence
    for table in tables():
        if asked := table.asked_politely(sentence):
            return asked
    if not _ASKS.search(sentence):
        return sentence
    shorter = (table.without_tag(sentence) for table in tables())
    return next((text for text in shorter if text != sentence), "")


@cache
def predicate_words(predicate: str) -> frozenset[str]:
    """Return the words by which people say a predicate, in all languages, and words that say nothing.

    Of a relationship they say more than the predicate: "sister" and "dog" are no other words for
    `sibling_of` and `has_pet`.
    """
    phrases: list[str] = []
    for table in raw_tables():
        rows = [row for row in table["said"] if row.get("predicate") == predicate]
        if any(row["type"] == "relationship" for row in rows):
            return frozenset()
        for name in ("fillers", "tails", "lists"):
            phrases += table[name]
        phrases += chain.from_iterable(row["phrases"] for row in rows)
    return frozenset(words(" ".join(phrases)))


_YES = re.compile(r"\W*(?:yes|true|ja|sí|si|oui|да|是)", re.IGNORECASE)
_NO = re.compile(r"\W*(?:no|false|nein|non|нет|否|不)", re.IGNORECASE)


def begins_with_yes(text: str) -> bool:
    """Return whether a text begins with a word for yes."""
    return _YES.match(text) is not None


def begins_with_no(text: str) -> bool:
    """Return whether a text begins with a word for no."""
    return _NO.match(text) is not None
