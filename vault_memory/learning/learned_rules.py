"""Recognizes standing rules in a person's own words, for RULES.md.

The table of phrases is small and strict. A rule comes word for word from a short turn of the
person, so that no mail, web page or pasted document can become a rule.
"""

import re
from collections.abc import Iterable
from datetime import date

from vault_memory.learning.note_lines import ops_for
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import folded, items_of
from vault_memory.rules.context.rule_archive import ARCHIVED, is_archive
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.learning.rule_cap import MOST_ACTIVE, surplus_rules
from vault_memory.rules.search.tokens import clean

ACTIVE = "Asked for"
LONGEST_TURN = 600
"""Letters; a longer turn is a document rather than a request"""
LONGEST_RULE = 240

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
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
    if len(text) > LONGEST_TURN:
        return []
    sentences = (" ".join(match.split()) for match in _SENTENCE.findall(clean(text)))
    return [sentence for sentence in sentences if _is_rule(sentence)]


def _is_rule(sentence: str) -> bool:
    if len(sentence) > LONGEST_RULE or not _CUES.search(sentence):
        return False
    # "Always a pleasure" and "Never had a cat" begin like a rule.
    return not (_QUESTION.search(sentence) or _STATEMENT.search(sentence))


def rule_lines(turns: Iterable[tuple[Turn, date]]) -> list[str]:
    """Returns items for RULES.md, from turns with their days."""
    return [
        f"{rule.rstrip('.。 ')} ({day}, ref:{turn.id})"
        for turn, day in turns
        for rule in rules_in(turn.text)
    ]


def rule_ops(doc: SectionedDoc, lines: Iterable[str]) -> list[dict[str, object]]:
    """Returns ops that add the rules, and move the oldest surplus rules to the archive.

    A rule of the archive becomes active when the person asks again. The same turn, read twice,
    does not bring it back.
    """
    items = items_of(doc)
    active = {folded_rule(item.text) for item in items if not is_archive(item.heading)}
    archived = {folded(item.text) for item in items if is_archive(item.heading)}
    unknown = [
        line
        for line in lines
        if folded_rule(line) not in active and folded(line) not in archived
    ]
    new = list({folded_rule(line): line for line in unknown}.values())
    ops = ops_for(doc, ACTIVE, new)
    if not ops:
        return []
    return [*ops, *archive_ops(apply_ops(doc, ops).doc)]


def archive_ops(doc: SectionedDoc) -> list[dict[str, object]]:
    """Returns ops that move surplus rules to the archive.

    Each move is two ops in a row, which policy judges as one.
    """
    ops: list[dict[str, object]] = []
    after = doc
    for item in surplus_rules(after):
        removal = {
            "op": "remove",
            "heading": item.heading,
            "match": item.text,
            "exact": True,
        }
        move = [removal, *ops_for(after, ARCHIVED, [item.text])]
        after = apply_ops(after, move).doc
        ops += move
    return ops


def folded_rule(text: str) -> str:
    """Returns the form in which equal rules are equal."""
    return parse_item(text).text.casefold().strip(" .")


__all__ = ["ACTIVE", "ARCHIVED", "MOST_ACTIVE", "rule_lines", "rule_ops", "rules_in"]
