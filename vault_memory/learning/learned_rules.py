"""Recognizes standing rules in a person's own words, for RULES.md.

The table of phrases is small and strict. A rule comes word for word from a short turn of the
person, so that no mail, web page or pasted document can become a rule.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.learning.note_lines import ops_for
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.context.rule_archive import ARCHIVED, is_archive
from vault_memory.rules.context.standing_rules import MOST_ACTIVE, active_rules, surplus_rules
from vault_memory.rules.conversations.quotation_marks import unquoted
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.ops import Archive, as_json
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate
from vault_memory.rules.learning.twins import TwinIndex
from vault_memory.rules.search.tokens import clean, is_question
from vault_memory.rules.sentences.sentence_splitter import split_sentences

if TYPE_CHECKING:
    from vault_memory.rules.learning.policy_cues import PolicyCues


ACTIVE = "Asked for"
LONGEST_TURN = 600
"""Letters; a longer turn is a document rather than a request"""
LONGEST_RULE = 240

_CUES = re.compile(
    r"^(?:please,? |and |so |also )*(?:from now on|from today on|in (?:the )?future,|always |never |never again |"
    r"every time |whenever |remember to always|(?:do not|don['’]t) (?:ever|ever again) )|"
    r"\b(?:from now on|going forward|from this day on)\b|"
    r"^(?:bitte |und )*(?:ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|künftig|in zukunft|immer |nie(?:mals)? )|"
    r"\b(?:ab (?:jetzt|sofort)|von nun an|in zukunft|künftig)\b|"
    r"^(?:por favor,? |y )*(?:siempre |nunca |jamás )|\b(?:de|a partir de) ahora(?: en adelante)?\b|\ben adelante\b|"
    r"\b(?:désormais|dorénavant|à partir de maintenant|à l['’]avenir)\b|^(?:ne \w+ (?:plus )?jamais|toujours )|"
    r"\b(?:отныне|впредь|с этого момента|с сегодняшнего дня)\b|^(?:пожалуйста,? )?(?:всегда|никогда не)\b|"
    r"(?:从现在(?:开始|起)|從現在(?:開始|起)|从今以后|從今以後|今后|今後|以后都|以後都)|^(?:请|請)?(?:总是|總是|永远不要|永遠不要)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\s*$")
_STATEMENT = re.compile(
    r"^(?:always|never)\b[^.]{0,20}\b(?:have|had|been|was|were|liked|loved|wanted|thought)\b|"
    r"^(?:always|never) (?:a|the|my|his|her|their|been|mind)\b",
    re.IGNORECASE,
)


def rules_in(text: str) -> list[str]:
    """Returns the sentences of a turn that ask the bot for something in the future."""
    # Fault: a long turn is a pasted document, whose sentences are another author's.
    if len(text) > LONGEST_TURN:
        return []
    # Fault: "Dr." ended the rule "Please always call Dr. Holm".
    sentences = (" ".join(sentence.split()) for sentence in split_sentences(clean(text)))
    return [sentence for sentence in sentences if is_rule(sentence)]


def is_rule(sentence: str) -> bool:
    """Returns whether a sentence asks the bot for something in the future."""
    # Fault: a long sentence is no request that a person types.
    if len(sentence) > LONGEST_RULE:
        return False
    # Fault: "Eve says: 'from now on …'" asks for nothing.
    spoken = unquoted(sentence)
    if not _CUES.search(spoken):
        return False
    # "Always a pleasure" and "Never had a cat" begin like a rule.
    return not (_QUESTION.search(spoken) or _STATEMENT.search(spoken))


def rule_ops(
    doc: SectionedDoc, lines: Iterable[str], *, restores: bool = True
) -> list[dict[str, object]]:
    """Returns ops that add the rules, and move the oldest surplus rules to the archive.

    A rule of the archive becomes active when the person asks again. The same turn, read twice,
    does not bring it back. Without `restores` the archived line stays where it is, too.
    """
    page = _RulePage(doc)
    for line in lines:
        page.take(line)
    if not page.new_lines:
        return []
    removals = page.removals if restores else []
    ops = [*removals, *ops_for(doc, ACTIVE, page.new_lines)]
    return [*ops, *archive_ops(apply_ops(doc, ops).doc)]


def new_rules(doc: SectionedDoc, lines: Iterable[str]) -> list[str]:
    """Returns the rules that no rule of the page says, active or archived."""
    page = _RulePage(doc)
    return [line for line in lines if page.is_new(line)]


def with_room(doc: SectionedDoc, lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the rules that a full page takes, and those of a turn with several that it does not.

    A single rule takes the place of the oldest. Several rules of one turn must not push out what
    the person asked for before.
    """
    lines = list(lines)
    refs = Counter(parse_item(line).ref for line in lines)
    page = _RulePage(doc)
    room = MOST_ACTIVE - len(active_rules(doc))
    fitting: list[str] = []
    surplus: list[str] = []
    for line in lines:
        is_new = page.take(line) is None
        if is_new and room <= 0 and refs[parse_item(line).ref] > 1:
            surplus.append(line)
            continue
        fitting.append(line)
        room -= is_new
    return fitting, surplus


def rule_skips(doc: SectionedDoc, lines: Iterable[str], scope: str) -> list[SkippedDuplicate]:
    """Returns the rules that active rules of the page, or earlier ones of `lines`, say already."""
    page = _RulePage(doc)
    skips = []
    for line in lines:
        twin = page.take(line)
        if twin is not None:
            key = content_key(scope, twin.text)
            turn = parse_item(line).ref
            skips.append(SkippedDuplicate(twin.heading, line, key, turn))
    return skips


class _ActiveRule(NamedTuple):
    """An active rule: of the page, or a new one."""

    heading: str
    text: str


class _RulePage:
    """The rules of a page, to which new ones are added one by one."""

    def __init__(self, doc: SectionedDoc) -> None:
        items = items_of(doc)
        self._active = [
            _ActiveRule(item.heading, item.text) for item in items if not is_archive(item.heading)
        ]
        self._archived = [item for item in items if is_archive(item.heading)]
        self._active_index = TwinIndex(rule.text for rule in self._active)
        self._archive_index = TwinIndex(item.text for item in self._archived)
        self.new_lines: list[str] = []
        self.removals: list[dict[str, object]] = []
        """ops that take restored rules out of the archive"""

    def is_new(self, line: str) -> bool:
        """Returns whether no rule of the page says the same; adds it to the page."""
        count = len(self.removals)
        return (
            self.take(line) is None
            and self.new_lines[-1:] == [line]
            and len(self.removals) == count
        )

    def take(self, line: str) -> _ActiveRule | None:
        """Adds a rule, unless an active one says the same. Returns the rule that does."""
        position = _position_of_twin(self._active_index, line)
        if position is not None:
            return self._active[position]
        position = _position_of_twin(self._archive_index, line)
        if position is not None:
            rule = self._archived[position]
            # The night that archived this rule may read its turn again.
            if _is_from_same_turn(rule.text, line):
                return None
            self.removals.append(_removal_of(rule))
        self.new_lines.append(line)
        self._active.append(_ActiveRule(ACTIVE, line))
        self._active_index.add(line)
        return None


def _position_of_twin(index: TwinIndex, line: str) -> int | None:
    """Returns the position of a rule that says the same.

    A rule that says more is a new one: both are a person's own words.
    """
    twin = index.find(line)
    is_said = twin is not None and twin.is_duplicate and not twin.replaces
    return twin.position if twin is not None and is_said else None


def _is_from_same_turn(earlier: str, line: str) -> bool:
    ref = parse_item(line).ref
    if ref:
        return parse_item(earlier).ref == ref
    return folded_line(earlier) == folded_line(line)


def _removal_of(item: NoteItem) -> dict[str, object]:
    # Fault: a similar rule below the same heading must not be removed in its place.
    return {"op": "remove", "heading": item.heading, "match": item.text, "exact": True}


def archive_ops(doc: SectionedDoc) -> list[dict[str, object]]:
    """Returns ops that move surplus rules to the archive."""
    # Fault: a similar rule below the same heading must not be moved in its place.
    return [as_json(Archive(item.heading, item.text, exact=True)) for item in surplus_rules(doc)]


_CLAUSES = re.compile("[,;，；、]")


def count_of_orders(rule: str, cues: "PolicyCues") -> int:
    """Returns how many orders a rule has: "never use emoji, and always call me Bo" has two."""
    _, *clauses = _CLAUSES.split(rule)
    # Fault: of "answer in grams, never in ounces" the second clause is no order of its own.
    return 1 + sum(
        any(cue.reason == "explicit" for cue in cues.find(clause.strip())) for clause in clauses
    )


def spoken_rules(
    text: str, cues: "PolicyCues", own_sentences: Callable[[str], Sequence[str]]
) -> dict[str, bool]:
    """Returns the rules in a turn, and whether the person plainly asks for each.

    `own_sentences` returns the person's own statements in a text.
    """
    # Fault: a long pasted text is a document, and its sentences are no rules of the person.
    if len(text) > LONGEST_TURN:
        return {}
    rules: dict[str, bool] = {}
    for sentence in own_sentences(text):
        rule = " ".join(clean(sentence).split())
        spoken = unquoted(rule)
        # Fault: a question such as "should you always …?" asks for nothing.
        if len(rule) > LONGEST_RULE or is_question(spoken):
            continue
        # Fault: "from now on I work at ACME" has the words of a rule, and asks for nothing.
        if is_rule(rule) and not cues.is_own_statement(spoken):
            rules[rule] = True
            continue
        reasons = {cue.reason for cue in cues.find(spoken)}
        if not reasons.isdisjoint({"explicit", "implicit"}):
            rules.setdefault(rule, "explicit" in reasons)
    return rules


__all__ = [
    "ACTIVE",
    "ARCHIVED",
    "MOST_ACTIVE",
    "new_rules",
    "rule_ops",
    "rule_skips",
    "rules_in",
    "with_room",
]
