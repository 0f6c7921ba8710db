"""Finds statements of one scope that contradict each other, and decides which one loses. Pure.

The decision depends on the statements alone, so two devices settle a conflict alike.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar, assert_never

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.claims.contrasts import contrast, skeleton
from vault_memory.rules.facts.fact import Fact, begins
from vault_memory.rules.facts.fact_page import Resolution
from vault_memory.rules.facts.values import fact_conflicts, overlap, subjects
from vault_memory.rules.search.tokens import stop_words, words

Kind = Literal["value", "opposite", "contrast", "rule", "meaning"]
"""Two values of one predicate, opposite predicates, a negation or a number, two rules, or a
contradiction that a model found"""

MOST_ALIKE = 3
"""Statements that are equal but for negations and numbers; more are a series"""

HAPPENINGS = frozenset({"event", "activity", "ephemeral", "episode"})
"""Types of items that tell what happened on their day: another day is another truth"""
MOST_WITH_WORD = 20
"""Statements with a word; a more frequent word says little about the subject"""
FEWEST_COMMON = 2
"""Rare words that both statements of a pair have"""
ID_LENGTH = 8


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact, an item of a note or a rule."""

    id: str
    note: str
    heading: str
    text: str
    """of its item, with its metadata"""
    words: str
    """without its metadata"""
    type: str = ""
    day: date | None = None
    """on which an item was learned, as it says itself"""
    ref: str = ""
    unclear: str = ""
    fact: Fact | None = None
    is_rule: bool = False


class Authorship(NamedTuple):
    """What the audit says of a statement."""

    is_bots: bool = False
    """the bot wrote it, and no person changed it"""
    is_told: bool = False
    """a person's words, taken over from a conversation"""
    learned: str = ""
    """the day of its first record, ISO; empty: unknown"""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements that cannot both hold, the one with the smaller id first."""

    kind: Kind
    first: Statement
    second: Statement

    @property
    def ids(self) -> frozenset[str]:
        """The ids of both."""
        return frozenset((self.first.id, self.second.id))


@dataclass(frozen=True, slots=True)
class Settlement:
    """The statement that wins, and the one that loses."""

    winner: Statement
    loser: Statement


@dataclass(frozen=True, slots=True)
class MergedValues:
    """Two values of a predicate that become one line."""

    older: Statement
    newer: Statement


class Unsettled(NamedTuple):
    """A person decides."""


Verdict = Settlement | MergedValues | Unsettled


@dataclass(frozen=True, slots=True)
class ConflictRules:
    """How conflicts are settled."""

    day: date
    single: frozenset[str]
    default: Resolution = "temporal"
    modes: Mapping[str, Resolution] = field(default_factory=dict)
    """by predicate"""

    def mode_of(self, conflict: Contradiction) -> Resolution:
        """Returns the mode of a conflict. Of two predicates, the first one with a mode decides."""
        for statement in (conflict.first, conflict.second):
            if statement.fact and statement.fact.predicate in self.modes:
                return self.modes[statement.fact.predicate]
        return self.default


# --- Finding ----------------------------------------------------------------------------------


def find_conflicts(statements: Iterable[Statement], rules: ConflictRules) -> list[Contradiction]:
    """Returns each conflict among the statements of one scope once, in a fixed order."""
    by_id: dict[str, Statement] = {}
    for statement in statements:
        # Fault: a copy of a note has the same statement, which would contradict itself.
        by_id.setdefault(statement.id, statement)
    conflicts = [
        *_between_facts(by_id, rules),
        *_between_items(by_id.values()),
        *_between_rules(by_id.values()),
    ]
    return sorted(conflicts, key=_order)


def ordered(kind: Kind, first: Statement, second: Statement) -> Contradiction:
    """Returns the conflict of two statements, in whichever order they come."""
    # Fault: two devices must name a conflict alike, or each would ask the person about it.
    if second.id < first.id:
        first, second = second, first
    return Contradiction(kind, first, second)


def _order(conflict: Contradiction) -> tuple[str, str, str]:
    return conflict.first.id, conflict.second.id, conflict.kind


def _between_facts(by_id: Mapping[str, Statement], rules: ConflictRules) -> Iterator[Contradiction]:
    facts = [statement.fact for statement in by_id.values() if statement.fact]
    for pair in fact_conflicts(facts, rules.day, rules.single):
        yield ordered(pair.kind, by_id[pair.first.id], by_id[pair.second.id])
    for group in subjects(facts, rules.day):
        many = [fact for fact in group if fact.predicate not in rules.single]
        for first, second in _contrasts(many, _words_of_fact):
            # Two numbers are two values: ship 3 was seen, and ship 4, too.
            is_negation = contrast(_words_of_fact(first), _words_of_fact(second))
            if is_negation == "negation" and overlap(first, second):
                yield ordered("contrast", by_id[first.id], by_id[second.id])


def _words_of_fact(fact: Fact) -> str:
    return f"{fact.predicate} {fact.object}"


def _between_items(statements: Iterable[Statement]) -> Iterator[Contradiction]:
    items = [
        statement
        for statement in statements
        if not statement.fact and not statement.is_rule and statement.type not in HAPPENINGS
    ]
    for first, second in _contrasts(items, _words_of_item):
        yield ordered("contrast", first, second)


def _words_of_item(statement: Statement) -> str:
    return statement.words


def _contrasts(entries: Iterable[T], words_of: Callable[[T], str]) -> Iterator[tuple[T, T]]:
    """Yields entries that are equal but for a negation or a number.

    Many alike entries are a series of measurements rather than a contradiction.
    """
    groups: dict[tuple[str, ...], list[T]] = defaultdict(list)
    for entry in entries:
        groups[skeleton(words_of(entry)).words].append(entry)
    for group in groups.values():
        # Fault: a series of measurements would be reported as conflicts, each with each.
        if len(group) > MOST_ALIKE:
            continue
        for first, second in combinations(group, 2):
            if contrast(words_of(first), words_of(second)) is not None:
                yield first, second


def _between_rules(statements: Iterable[Statement]) -> Iterator[Contradiction]:
    rules = [statement for statement in statements if statement.is_rule]
    # Rules that differ by a number are often a series, as items are.
    for first, second in _contrasts(rules, _words_of_item):
        yield ordered("rule", first, second)
    for first, second in combinations(rules, 2):
        if fill_one_slot(first.words, second.words):
            yield ordered("rule", first, second)


# --- Deciding ---------------------------------------------------------------------------------


def settle(conflict: Contradiction, mode: Resolution, authors: Mapping[str, Authorship]) -> Verdict:
    """Decides a conflict. `authors`: by the ids of both statements."""
    by_time = sorted((conflict.first, conflict.second), key=_when_valid(authors))
    by_learning = sorted((conflict.first, conflict.second), key=_when_learned(authors))
    match mode:
        case "ask":
            return Unsettled()
        case "merge":
            can_merge = conflict.kind == "value"
            return MergedValues(*by_learning) if can_merge else Unsettled()
        case "keep_existing":
            older, newer = by_learning
            return Settlement(winner=older, loser=newer)
        case "use_new":
            older, newer = by_learning
            return Settlement(winner=newer, loser=older)
        case "temporal":
            older, newer = by_time
            if _needs_later_turn(conflict) and not _cites_later(older, newer, authors):
                return Unsettled()
            return Settlement(winner=newer, loser=older)
        case _:
            assert_never(mode)


def _when_valid(
    authors: Mapping[str, Authorship],
) -> Callable[[Statement], tuple[date, str, str, str]]:
    """Orders by the day from which a statement holds, the day it was learned, turn, and id."""

    def key(statement: Statement) -> tuple[date, str, str, str]:
        first_day = begins(statement.fact) if statement.fact else date.min
        return first_day, *_when_learned(authors)(statement)

    return key


def _when_learned(authors: Mapping[str, Authorship]) -> Callable[[Statement], tuple[str, str, str]]:
    def key(statement: Statement) -> tuple[str, str, str]:
        return learned_on(statement, authors), statement.ref, statement.id

    return key


def learned_on(statement: Statement, authors: Mapping[str, Authorship]) -> str:
    """Returns the day on which a statement was learned, ISO; empty when nothing says it."""
    if statement.day is not None:
        return statement.day.isoformat()
    return authors[statement.id].learned


def _needs_later_turn(conflict: Contradiction) -> bool:
    """Returns whether only a later turn shows that the newer statement replaces the older one."""
    return conflict.kind in ("contrast", "meaning")


def _cites_later(older: Statement, newer: Statement, authors: Mapping[str, Authorship]) -> bool:
    """Returns whether the bot wrote both, and the newer one cites a later turn."""
    if not (authors[older.id].is_bots and authors[newer.id].is_bots):
        return False
    if not older.ref or not newer.ref or older.ref == newer.ref:
        return False
    return learned_on(older, authors) < learned_on(newer, authors) or (
        learned_on(older, authors) == learned_on(newer, authors) and older.ref < newer.ref
    )


# --- Pairs for a model to judge ---


def pair_id(first: str, second: str) -> str:
    """Returns the id of a pair of statements, in whichever order they come."""
    return short_hash(*sorted((first, second)))[:ID_LENGTH]


def likely_pairs(
    statements: Iterable[Statement], asked: Collection[str], most: int
) -> list[tuple[Statement, Statement]]:
    """Returns pairs with common rare words, the most alike first; none that was asked about."""
    candidates = [
        statement
        for statement in statements
        if not statement.is_rule and statement.type not in HAPPENINGS
    ]
    words_of = [_content_words(statement.words) for statement in candidates]
    by_word: dict[str, list[int]] = defaultdict(list)
    for position, content in enumerate(words_of):
        for word in content:
            by_word[word].append(position)
    weights: dict[tuple[int, int], float] = defaultdict(float)
    common: Counter[tuple[int, int]] = Counter()
    for positions in by_word.values():
        if len(positions) > MOST_WITH_WORD:
            continue
        for pair in combinations(positions, 2):
            weights[pair] += 1 / len(positions)
            common[pair] += 1
    ranked = [
        (-weights[pair], pair_id(candidates[pair[0]].id, candidates[pair[1]].id), pair)
        for pair, count in common.items()
        if count >= FEWEST_COMMON and words_of[pair[0]] != words_of[pair[1]]
    ]
    new = sorted(entry for entry in ranked if entry[1] not in asked)
    return [(candidates[a], candidates[b]) for _, _, (a, b) in new[:most]]


def _content_words(text: str) -> frozenset[str]:
    all_words = words(text)
    return frozenset(all_words).difference(stop_words(all_words))


MOST_RULES = 2_048
"""Rules whose slots are cached"""


_LANGUAGES = {
    "en": "english englisch anglais inglés ingles английск\\w* по-английски 英语 英文",
    "de": "german deutsch allemand alemán aleman немецк\\w* по-немецки 德语 德文",
    "es": "spanish spanisch espagnol español espanol испанск\\w* по-испански 西班牙语",
    "fr": "french französisch franzosisch français francais francés французск\\w* по-французски 法语 法文",
    "it": "italian italienisch italien italiano итальянск\\w* 意大利语",
    "pt": "portuguese portugiesisch portugais portugués португальск\\w* 葡萄牙语",
    "ru": "russian russisch russe ruso русск\\w* по-русски 俄语 俄文",
    "zh": "chinese chinesisch chinois chino китайск\\w* по-китайски 中文 汉语",
    "nl": "dutch niederländisch néerlandais holandés 荷兰语",
    "no": "norwegian norwegisch norvégien noruego норвежск\\w* 挪威语",
    "ja": "japanese japanisch japonais japonés японск\\w* 日语 日文",
}
_LENGTHS = {
    "short": "short shorter brief briefly concise concisely terse kurz kürzer knapp court courts courte courtes bref brève concis corto corta breve breves concisas кратко коротк\\w* 简短 简洁 简明",
    "long": "long longer detailed ausführlich ausführliche detailliert lang détaillé détaillées longues largo largas detallado detalladas подробн\\w* длинн\\w* 详细 详尽",
}
_UNITS = {
    "metric": "metric metrisch métrique métrico celsius kilometres kilometers kilometer kilomètres kilómetros метрическ\\w* километр\\w* 公制 摄氏度 公里",
    "imperial": "imperial imperiale impériales imperiales fahrenheit miles meilen имперск\\w* мил\\w* 英制 华氏度 英里",
}
_SPEAKING = re.compile(
    r"answer|repl|respon|writ|speak|talk|antwort|schreib|sprich|sprech|répon|écri|parle|"
    r"respond|respuesta|escrib|habl|отвеча|ответ|пиши|писать|говори|回答|回复|说|写|用"
)
_ADDRESS = re.compile(
    r"\b(?:call|address) me (?:as |by )?(?!at\b|on\b|in\b|back\b|later\b|about\b|a\b|the\b)([^\s,.;!]+)|\bnenn(?:e|t)? mich ([^\s,.;!]+)|"
    r"\bappelle[- ]moi ([^\s,.;!]+)|\bll[aá]mame ([^\s,.;!]+)|(?:叫|称呼)我([^\s，。！]+)"
)
_FORMAL = (
    (re.compile(r"\b(?:duz\w*|tutoi\w*|tutéame|tutea\w*|на ты)\b|\bper du\b"), "familiar"),
    (re.compile(r"\b(?:siez\w*|vouvoi\w*|на вы)\b|\bper sie\b|\bde usted\b"), "formal"),
)
_CONDITION = re.compile(
    r"\b(?:when|if|whenever|unless|except|only|with|for|to|wenn|falls|außer|nur|bei|für|mit|quand|si|sauf|"
    r"avec|pour|cuando|excepto|con|para|когда|если|кроме|для|с)\b|当|如果|除非|对"
)


def fill_one_slot(first: str, second: str) -> bool:
    """Returns whether two rules give one slot two values. The order does not matter."""
    ours, theirs = slots_of(first), slots_of(second)
    return any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys())


@lru_cache(maxsize=MOST_RULES)
def slots_of(rule: str) -> dict[str, str]:
    """Returns the value of each slot that a rule fills for all answers.

    A rule with a condition, and a rule that forbids something, fill none.
    """
    text = rule.casefold()
    if _CONDITION.search(_without_cue(text)) or skeleton(rule).is_negated:
        return {}
    return dict(filter(None, _slots_in(text)))


def _slots_in(text: str) -> list[tuple[str, str] | None]:
    """Returns the choices that hold for all answers, each by its name, with the value that a rule gives it."""
    speaks = _SPEAKING.search(text) is not None
    return [
        _choice("language", _LANGUAGES, text) if speaks else None,
        _choice("length", _LENGTHS, text) if speaks else None,
        _choice("units", _UNITS, text),
        _address(text),
        _form_of_address(text),
    ]


def _choice(name: str, choices: dict[str, str], text: str) -> tuple[str, str] | None:
    """Returns the only choice that a text names."""
    values = [value for value, names in choices.items() if _names(names).search(text)]
    return (name, values[0]) if len(values) == 1 else None


@lru_cache(maxsize=64)
def _names(names: str) -> re.Pattern[str]:
    patterns = [
        name if "\u4e00" <= name[0] <= "\u9fff" else rf"\b{name}\b" for name in names.split()
    ]
    return re.compile("|".join(patterns))


def _address(text: str) -> tuple[str, str] | None:
    match = _ADDRESS.search(text)
    if not match:
        return None
    return "name", next(filter(None, match.groups()))


def _form_of_address(text: str) -> tuple[str, str] | None:
    values = [value for pattern, value in _FORMAL if pattern.search(text)]
    return ("address", values[0]) if len(values) == 1 else None


def _without_cue(text: str) -> str:
    """Returns a rule without `from now on` and the like, whose words may seem conditions."""
    return _CUE.sub(" ", text)


_CUE = re.compile(
    r"from (?:now|today|this day) on|going forward|in (?:the )?future|à partir de maintenant|"
    r"(?:de|a partir de) ahora(?: en adelante)?|с этого момента|с сегодняшнего дня|answer to me|to me\b|"
    r"(?:reply|talk|write|respond|speak) (?:to|with) me"
)
