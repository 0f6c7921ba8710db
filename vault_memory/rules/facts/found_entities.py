"""Reads the entities that a model found. A name must stand letter by letter in its evidence. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.rules.facts.fact import folded
from vault_memory.rules.learning.answer_schema import ENTITY_TYPES
from vault_memory.rules.learning.lenient_json import json_in, without_thoughts
from vault_memory.rules.search.tokens import clean, is_run

LONGEST_NAME = 80
MOST_ENTITIES = 200
MOST_ALIASES = 5


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity with the turn or the item that names it."""

    name: str
    type: str
    aliases: tuple[str, ...]
    evidence: str
    """the id of a turn or an item"""


def read_entities(answer: str, evidence: Mapping[str, str], *, key: str) -> list[FoundEntity]:
    """Returns the entities of an answer whose names stand in their evidence. Never raises.

    `evidence`: the texts of the turns or items by id. `key`: the key of the id in a row.
    """
    # Fault: a model writes its thoughts or other text around the answer.
    match = json_in(without_thoughts(answer), ("entities",))
    value = match.value.get("entities") if match else None
    rows = value if isinstance(value, list) else []
    # Fault: a model that repeats itself must not fill the page.
    found = (_read(row, evidence, key) for row in rows[:MOST_ENTITIES])
    return [entity for entity in found if entity is not None]


def read_verdicts(answer: str, pairs: Iterable[str]) -> frozenset[str]:
    """Returns the ids of the pairs that contradict each other by an answer. Never raises."""
    match = json_in(without_thoughts(answer), ("verdicts",))
    value = match.value.get("verdicts") if match else None
    asked = set(pairs)
    return frozenset(
        str(row["pair"])
        for row in (value if isinstance(value, list) else [])
        if isinstance(row, Mapping)
        # Fault: a model may answer about pairs that it was not asked about.
        and str(row.get("pair")) in asked
        and str(row.get("contradict")).strip().casefold() == "yes"
    )


def _read(row: Any, evidence: Mapping[str, str], key: str) -> FoundEntity | None:
    # Fault: a model returns a list of texts in place of objects.
    if not isinstance(row, Mapping):
        return None
    source = str(row.get(key, "")).strip(" []")
    text = evidence.get(source, "")
    name = _name(row.get("name"))
    # Fault: a model invents names. Only a name in its evidence counts.
    if not name or not stands_in(name, text):
        return None
    kind = str(row.get("type", "")).strip().casefold()
    aliases = dict.fromkeys(_aliases(row.get("aliases"), name, text))
    return FoundEntity(
        name,
        # Fault: a model invents a type of its own.
        kind if kind in ENTITY_TYPES else "other",
        tuple(aliases)[:MOST_ALIASES],
        source,
    )


def _aliases(value: Any, name: str, text: str) -> Iterator[str]:
    for entry in value if isinstance(value, list) else []:
        alias = _name(entry)
        # Fault: an alias that the evidence does not have would merge two entities.
        if alias and folded(alias) != folded(name) and stands_in(alias, text):
            yield alias


def _name(value: Any) -> str:
    """Returns a value as a name; ``""`` for what is no name."""
    if not isinstance(value, str):
        return ""
    name = " ".join(clean(value).split())
    has_letter = any(letter.isalpha() for letter in name)
    # A word in lower case is a common word rather than a name.
    is_name = has_letter and (is_run(name) or name != name.lower())
    return name if is_name and len(name) <= LONGEST_NAME else ""


def stands_in(name: str, text: str) -> bool:
    """Returns whether a text contains a name letter by letter, as complete words."""
    pattern = re.escape(unicodedata.normalize("NFC", name))
    if not is_run(name):
        pattern = rf"(?<!\w){pattern}(?!\w)"
    one_line = " ".join(unicodedata.normalize("NFC", text).split())
    return re.search(pattern, one_line) is not None
