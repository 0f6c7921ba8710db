"""Who and what a text is about: mentions by pattern and by known names, and which entity a name means. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vault_memory.rules.facts.fact import ALIAS, SUMMARY, TYPE, Fact, folded
from vault_memory.rules.search import tokens

TYPES = (
    "person",
    "organization",
    "project",
    "location",
    "product",
    "concept",
    "event",
    "email",
    "url",
    "other",
)
_WORDS = {
    "person": "person people human man woman child friend colleague человек 人 mensch persona personne",
    "organization": "organization organisation company firm team club school university agency band",
    "project": "project repository codebase",
    "location": "location place town city village island country building house street river lake harbour lighthouse",
    "product": "product machine device tool app program software boat car book game structure",
    "concept": "concept idea topic method language",
    "event": "event meeting party trip conference holiday",
}
_TYPE_OF = {
    word: type_ for type_, several in _WORDS.items() for word in several.split()
}
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_PATTERNS = (
    ("email", 0.98, re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("url", 0.98, re.compile(r"\bhttps?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:!?]")),
    ("person", 0.9, re.compile(r"(?<![\w@/.])@(?P<name>[^\W_](?:[\w.-]*\w)?)")),
    ("concept", 0.85, re.compile(r"(?<![\w#/&])#(?P<name>[^\W\d_][\w/-]*)")),
    (
        "event",
        0.8,
        re.compile(
            rf"(?i)\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}\.? (?:{_MONTH})[a-z]*\.? \d{{4}})\b"
        ),
    ),
)
KNOWN = 0.95
"""How sure it is that a known name means what is known by it"""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text."""

    name: str
    type: str
    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that facts are about."""

    name: str
    type: str = "other"
    aliases: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Entities:
    """All that are known in some scopes."""

    by_name: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    """by folded canonical name; of one name there may be several types"""
    by_alias: Mapping[str, Entity] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> "Entities":
        """Those that the facts tell of: each subject, with what `is_a` and `also_known_as` say of it."""
        told: dict[str, list[Fact]] = {}
        for fact in facts:
            told.setdefault(folded(fact.subject), []).append(fact)
        by_name = {name: (_entity(several),) for name, several in told.items()}
        by_alias: dict[str, Entity] = {}
        for [entity] in by_name.values():
            for alias in entity.aliases:
                by_alias.setdefault(folded(alias), entity)
        return cls(by_name, by_alias)

    def resolve(self, name: str, type_: str = "") -> Entity:
        """Whom a name means: by its name and type, else by an alias, else somebody new."""
        wanted = folded(name.removeprefix("@"))
        there = self.by_name.get(wanted, ())
        fitting = [
            entity
            for entity in there
            if not type_ or type_ == entity.type or "other" in (type_, entity.type)
        ]
        if fitting:
            return fitting[0]
        return self.by_alias.get(wanted) or Entity(name, type_ or "other")

    def names(self) -> dict[str, Entity]:
        """Every name that is known, as it is written, with whom it means."""
        found = {
            entity.name: entity
            for several in self.by_name.values()
            for entity in several
        }
        for entity in tuple(found.values()):
            found |= {alias: entity for alias in entity.aliases if alias not in found}
        return found


def type_of(said: str) -> str:
    """The type that an object of `is_a` means: `supply boat` is a product."""
    last = folded(said).split()[-1:] or [""]
    if folded(said) in TYPES:
        return folded(said)
    return _TYPE_OF.get(folded(said)) or _TYPE_OF.get(last[0], "other")


def _entity(facts: list[Fact]) -> Entity:
    said: dict[str, list[str]] = {}
    for fact in facts:
        if not fact.struck:
            said.setdefault(fact.predicate, []).append(fact.object)
    aliases = tuple(dict.fromkeys(said.get(ALIAS, [])))
    types = [type_of(one) for one in said.get(TYPE, [])]
    summary = said.get(SUMMARY, [""])[-1]
    return Entity(
        facts[0].subject,
        next((one for one in types if one != "other"), "other"),
        aliases,
        summary,
    )


def extract(text: str, known: Entities | None = None) -> list[Mention]:
    """Who and what the text mentions, in its order; where two overlap, the surer and then the longer one."""
    found = [
        mention
        for type_, confidence, pattern in _PATTERNS
        for mention in _by(pattern, type_, confidence, text)
    ]
    for name, entity in known.names().items() if known else ():
        found += [
            Mention(entity.name, entity.type, start, end, KNOWN)
            for start, end in _places(name, text)
        ]
    return without_overlaps(found)


def without_overlaps(mentions: Iterable[Mention]) -> list[Mention]:
    """Of mentions that overlap the surest, then the longest, then the first."""
    taken: list[Mention] = []
    for one in sorted(
        mentions,
        key=lambda one: (
            -one.confidence,
            one.start - one.end,
            one.start,
            one.type,
            one.name,
        ),
    ):
        if all(one.end <= other.start or other.end <= one.start for other in taken):
            taken.append(one)
    return sorted(taken, key=lambda one: one.start)


def _by(
    pattern: re.Pattern[str], type_: str, confidence: float, text: str
) -> Iterable[Mention]:
    for match in pattern.finditer(text):
        name = match.groupdict().get("name") or match[0]
        yield Mention(name, type_, match.start(), match.end(), confidence)


def _places(name: str, text: str) -> Iterable[tuple[int, int]]:
    """Where a name stands, as whole words where its script has them."""
    wanted = unicodedata.normalize("NFC", name.strip())
    if not wanted:
        return ()
    inner = re.escape(wanted)
    if not tokens.is_run(wanted):
        inner = rf"(?<!\w){inner}(?!\w)"
    return [match.span() for match in re.finditer(inner, text, re.IGNORECASE)]
