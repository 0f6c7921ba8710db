"""Tables of phrases, one TOML file for each language in `phrases/`: how people say what is worth remembering.

In a phrase `*` stands for one to three words, `(a|b)` for either, `{}` for what the fact is about (it stands at the end
when it is not written). Capitals do not count, and nor does the kind of apostrophe.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "phrases"
LONGEST_OBJECT = 60
_TRIMMED = " \t\r\n.!。！,，;；:：-–—"
_WORDS = r"[^\s,;.!?]+(?:[ \t]+[^\s,;.!?]+){0,2}?"


@dataclass(frozen=True, slots=True)
class Match:
    """What a sentence holds."""

    text: str
    """a piece of the sentence"""
    type: str
    predicate: str = ""
    object: str = ""
    """a piece of it as well"""


@dataclass(frozen=True, slots=True)
class _Kind:
    pattern: re.Pattern[str]
    type: str
    predicate: str


class Phrases:
    """The table of one language."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._spaced = bool(table.get("spaces", True))
        self._filler = re.compile(
            rf"(?:{self._any(table['fillers'])}[\s,，:：]*)+"
            if table["fillers"]
            else r"(?!)",
            _I,
        )
        self._request = re.compile(rf"{self._any(table['requests'])}[\s,，:：]*", _I)
        self._no_request = re.compile(self._any(table["no_requests"]), _I)
        self._doubt = re.compile(self._any(table["doubts"], inside=True), _I)
        self._secret = re.compile(self._any(table["secrets"], inside=True), _I)
        self._end = re.compile(
            rf"[,;.!?()，。；！？、—–:]|\s(?:{self._any(table['ends'])})(?=\s+(?:[^\W\d_A-ZÀ-ÞА-Я]|I\b))"
        )
        self._tail = (
            re.compile(rf"[\s,]*{self._any(table['tails'])}\s*$", _I)
            if table["tails"]
            else None
        )
        self._kinds = [
            _Kind(
                re.compile(self._phrase(phrase), _I),
                row["type"],
                row.get("predicate", ""),
            )
            for row in table["said"]
            for phrase in row["phrases"]
        ]
        self._any_kind = re.compile(
            "|".join(
                kind.pattern.pattern.replace("?P<object>", "?:") for kind in self._kinds
            ),
            _I,
        )

    def match(self, sentence: str) -> Match | None:
        """What is worth remembering in a sentence; None for most."""
        filler = self._filler.match(sentence)
        said = sentence[filler.end() :] if filler else sentence
        if not said or self._secret.search(said):
            return None
        if not self._no_request.match(said) and (request := self._request.match(said)):
            asked = said[request.end() :].strip(_TRIMMED)
            return self._asked(asked) if self._enough(asked) else None
        return self._stated(said)

    def _asked(self, said: str) -> Match:
        """What a person explicitly wants remembered is, whatever it is."""
        stated = self._stated(said)
        return stated if stated and stated.text == said else Match(said, "context")

    def _stated(self, said: str) -> Match | None:
        if not self._any_kind.match(said) or self._doubt.search(said):
            return None
        text = said.strip(_TRIMMED)
        for kind in self._kinds:
            if found := kind.pattern.match(said):
                thing = self._object(found, said) if kind.predicate else ""
                return (
                    Match(text, kind.type, kind.predicate if thing else "", thing)
                    if self._enough(text)
                    else None
                )
        return None

    def _object(self, found: re.Match[str], said: str) -> str:
        if "object" in found.re.groupindex:
            thing = found["object"]
        else:
            rest = said[found.end() :]
            end = self._end.search(rest)
            thing = rest[: end.start()] if end else rest
        if self._tail is not None:
            thing = self._tail.sub("", thing)
        thing = thing.strip(_TRIMMED)
        return thing if 0 < len(thing) <= LONGEST_OBJECT else ""

    def _enough(self, said: str) -> bool:
        return len(said) >= 4 if not self._spaced else len(said.split()) >= 2

    def _any(self, phrases: Iterable[str], *, inside: bool = False) -> str:
        inner = (
            "|".join(
                self._phrase(phrase)
                for phrase in sorted(phrases, key=len, reverse=True)
            )
            or "(?!)"
        )
        return rf"(?:{self._edge}(?:{inner}))" if inside else f"(?:{inner})"

    @property
    def _edge(self) -> str:
        return r"(?<!\w)" if self._spaced else ""

    def _phrase(self, phrase: str) -> str:
        pattern = "".join(
            _PIECES.get(piece, re.escape(piece))
            for piece in re.split(r"(\{\}|[*()|'’ ])", phrase)
        )
        return pattern + (r"(?!\w)" if self._spaced and phrase[-1:].isalnum() else "")


_I = re.IGNORECASE
_PIECES = {
    "": "",
    "*": _WORDS,
    "(": "(?:",
    ")": ")",
    "|": "|",
    " ": r"[ \t]+",
    "'": "['’]",
    "’": "['’]",
    "{}": r"(?P<object>[^,;.!?，。；！？]{1,60}?)",
}


@cache
def tables() -> tuple[Phrases, ...]:
    """All languages, read once."""
    return tuple(
        Phrases(tomllib.loads(file.read_text(encoding="utf-8")))
        for file in sorted(FOLDER.glob("*.toml"))
    )
