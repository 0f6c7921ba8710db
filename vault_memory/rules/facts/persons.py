"""Finds out which entities are persons, and what their first names refer to. Pure.

Both follow from the facts: without `is_a`, only relations between persons show it.
"""

from collections.abc import Iterable
from functools import cache

from vault_memory.rules.facts.entities import type_of
from vault_memory.rules.facts.fact import TYPE, Fact, canonical, folded
from vault_memory.rules.search import tokens

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
