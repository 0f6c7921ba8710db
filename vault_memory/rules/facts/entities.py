"""Entities: their mentions in a text, the names that they have, and which are persons. Pure.

Who is a person follows from the facts: without `is_a`, only relations between persons show it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter

from vault_memory.rules.facts.fact import ALIAS, SUMMARY, TYPE, Fact, canonical, folded
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
_TYPE_OF = {word: type_ for type_, words in _WORDS.items() for word in words.split()}
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_PATTERNS = (
    ("email", 0.98, "@", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("url", 0.98, "://", re.compile(r"\bhttps?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:!?]")),
    ("person", 0.9, "@", re.compile(r"(?<![\w@/.])@(?P<name>[^\W_](?:[\w.-]*\w)?)")),
    ("concept", 0.85, "#", re.compile(r"(?<![\w#/&])#(?P<name>[^\W\d_][\w/-]*)")),
    (
        "event",
        0.8,
        "",
        re.compile(
            rf"(?i)\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}\.? (?:{_MONTH})[a-z]*\.? \d{{4}})\b"
        ),
    ),
)
"""Type, confidence, a sign that is in each match, and the pattern"""
KNOWN = 0.95
"""The confidence of a mention by a known name"""


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
    """A person or another subject of facts."""

    name: str
    type: str = "other"
    aliases: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Entities:
    """All entities of some scopes."""

    by_name: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    """by folded canonical name; a name may have entities of several types"""
    by_alias: Mapping[str, Entity] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> "Entities":
        """Returns each subject of the facts, with its types and aliases."""
        by_subject: dict[str, list[Fact]] = {}
        for fact in facts:
            by_subject.setdefault(folded(fact.subject), []).append(fact)
        by_name = {name: (_entity(group),) for name, group in by_subject.items()}
        by_alias: dict[str, Entity] = {}
        for [entity] in by_name.values():
            for alias in entity.aliases:
                by_alias.setdefault(folded(alias), entity)
        return cls(by_name, by_alias)

    def resolve(self, name: str, type_: str = "") -> Entity:
        """Returns the entity of a name: by name and type, else by alias, else a new entity."""
        key = folded(name.removeprefix("@"))
        for entity in self.by_name.get(key, ()):
            if _types_fit(type_, entity.type):
                return entity
        return self.by_alias.get(key) or Entity(name, type_ or "other")

    def names(self) -> dict[str, Entity]:
        """Returns the entity for each name and alias, as they are written."""
        entities = [entity for group in self.by_name.values() for entity in group]
        names = {entity.name: entity for entity in entities}
        # An alias must not hide an entity of that name.
        for entity in tuple(names.values()):
            for alias in entity.aliases:
                names.setdefault(alias, entity)
        return names


def _types_fit(first: str, second: str) -> bool:
    """Returns whether two types may be of the same entity; ``other`` fits any type."""
    if not first or first == second:
        return True
    return first == "other" or second == "other"


def type_of(value: str) -> str:
    """Returns the type of an object of `is_a`: `supply boat` is a product."""
    name = folded(value)
    if name in TYPES:
        return name
    if name in _TYPE_OF:
        return _TYPE_OF[name]
    last_word = name.split()[-1] if name else ""
    return _TYPE_OF.get(last_word, "other")


def _entity(facts: list[Fact]) -> Entity:
    """Returns the entity that some facts with the same subject describe."""
    values: dict[str, list[str]] = {}
    for fact in facts:
        if not fact.struck:
            values.setdefault(fact.predicate, []).append(fact.object)
    types = [type_of(value) for value in values.get(TYPE, [])]
    specific_types = [type_ for type_ in types if type_ != "other"]
    aliases = dict.fromkeys(values.get(ALIAS, []))
    summaries = values.get(SUMMARY, [""])
    return Entity(
        name=facts[0].subject,
        type=specific_types[0] if specific_types else "other",
        aliases=tuple(aliases),
        summary=summaries[-1],
    )


def extract(text: str, entities: Entities | None = None) -> list[Mention]:
    """Returns the mentions in a text, in order; of overlapping ones the surer, then the longer."""
    mentions: list[Mention] = []
    for type_, confidence, sign, pattern in _PATTERNS:
        # Most texts lack the sign, and a pattern takes longer to say so.
        if sign in text:
            mentions += _pattern_mentions(pattern, type_, confidence, text)
    names = entities.names() if entities else {}
    for name, entity in names.items():
        for start, end in _name_spans(name, text):
            mention = Mention(entity.name, entity.type, start, end, KNOWN)
            mentions.append(mention)
    return without_overlaps(mentions)


def without_overlaps(mentions: Iterable[Mention]) -> list[Mention]:
    """Returns mentions without overlaps: the surest, then the longest, then the first stay."""
    mentions = list(mentions)
    if len(mentions) < 2:
        return mentions
    chosen: list[Mention] = []
    for mention in sorted(mentions, key=_priority):
        # Fault: a shorter name inside a longer one would be counted as a mention of its own.
        if not any(_overlap(mention, rival) for rival in chosen):
            chosen.append(mention)
    return sorted(chosen, key=attrgetter("start"))


def _priority(mention: Mention) -> tuple[float, int, int, str, str]:
    length = mention.end - mention.start
    return -mention.confidence, -length, mention.start, mention.type, mention.name


def _overlap(first: Mention, second: Mention) -> bool:
    return first.start < second.end and second.start < first.end


def _pattern_mentions(
    pattern: re.Pattern[str], type_: str, confidence: float, text: str
) -> Iterable[Mention]:
    for match in pattern.finditer(text):
        name = match.groupdict().get("name") or match[0]
        yield Mention(name, type_, match.start(), match.end(), confidence)


def _name_spans(name: str, text: str) -> list[tuple[int, int]]:
    """Returns the places of a name, as a complete word where its script has words."""
    normal_name = unicodedata.normalize("NFC", name.strip())
    if not normal_name:
        return []
    pattern = re.escape(normal_name)
    # Fault: a name inside a longer word is no mention.
    if not tokens.is_run(normal_name):
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


OF_PERSONS = frozenset(
    """works_at lives_in born_on has_role married_to dating friend_of sibling_of parent_of
    child_of reports_to manages mentors""".split()
)
"""Predicates whose subject is a person"""
BETWEEN_PERSONS = frozenset(
    """married_to dating friend_of sibling_of parent_of child_of reports_to manages
    mentors""".split()
)
"""Predicates whose object is a person, too"""

TITLES = frozenset(
    """mr mrs ms miss mister dr prof professor sir madam uncle aunt grandma grandpa herr frau
    fräulein onkel tante oma opa monsieur madame mme mlle mademoiselle maître oncle tonton señor
    señora señorita sr sra srta don doña tío tía senhor senhora signor signora signorina sig dott
    dottor dottoressa zio zia mevrouw meneer dhr mevr fru doktor pan pani господин госпожа
    г-н г-жа дядя тётя тетя пан пані bay bayan""".split()
)
"""Words before the name of a person"""


def has_title(name: str, texts: Iterable[str]) -> bool:
    """Returns whether a text names someone with a title, such as `Dr. Amara Bello` for `Bello`."""
    searched = tokens.words(name)
    return bool(searched) and any(_is_titled(searched, text) for text in texts)


def _is_titled(name: list[str], text: str) -> bool:
    words = tokens.words(text)
    size = len(name)
    for start in range(1, len(words) - size + 1):
        # A first name or a second title may stand between.
        before = words[max(0, start - 2) : start]
        if words[start : start + size] == name and not _titles().isdisjoint(before):
            return True
    return False


@cache
def _titles() -> frozenset[str]:
    return frozenset(word for title in TITLES for word in tokens.words(title))


def persons(facts: Iterable[Fact]) -> frozenset[str]:
    """Returns the folded names of the persons in the facts.

    What `is_a` says counts before what the other facts suggest. The user of a scope is a person.
    """
    likely: set[str] = set()
    types: dict[str, set[str]] = {}
    for fact in facts:
        subject, value = folded(fact.subject), folded(fact.object)
        if fact.scope == f"user:{subject}":
            likely.add(subject)
        if fact.predicate == TYPE and not fact.struck:
            types.setdefault(subject, set()).add(type_of(fact.object))
        if fact.predicate in OF_PERSONS:
            likely.add(subject)
        if fact.predicate in BETWEEN_PERSONS:
            likely.add(value)
    stated = {name for name, kinds in types.items() if "person" in kinds}
    others = {name for name, kinds in types.items() if kinds.isdisjoint({"person", "other"})}
    return frozenset((likely - others) | stated)


def person_called(first_name: str, facts: Iterable[Fact]) -> str:
    """Returns the folded name of the only person with this first name, or ``""``.

    A first name finds facts, and never merges two entities. `facts` are those about the names
    that begin with it.
    """
    all_facts = list(facts)
    first = folded(first_name.removeprefix("@"))
    aliases = canonical(all_facts)
    names = {
        aliases.get(name, name)
        for name in persons(all_facts)
        if name == first or name.startswith(f"{first} ")
    }
    if len(names) != 1:
        return ""
    [name] = names
    return "" if name == first else name


def may_be_first_name(word: str) -> bool:
    """Returns whether a word is written like the first name of a person."""
    if word.startswith("@"):
        return len(word) > 1
    return " " not in word and word[:1].isupper()
