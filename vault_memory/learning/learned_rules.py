"""What a person told the bot to do from now on, in their own words: it stands in RULES.md the same night.

The table is small and careful. A rule is only taken from a short turn of the person's own, and word for word, so that
nothing can become a rule that a mail, a web page or a pasted document says.
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
"""Letters; what is longer is a document rather than a request"""
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
_TELLS_OF_OTHERS = re.compile(
    r"^(?:always|never)\b[^.]{0,20}\b(?:have|had|been|was|were|liked|loved|wanted|thought)\b|"
    r"^(?:always|never) (?:a|the|my|his|her|their|been|mind)\b",
    re.IGNORECASE,
)


def rules_in(text: str) -> list[str]:
    """The sentences of a turn that ask for something from now on."""
    if len(text) > LONGEST_TURN:
        return []
    sentences = (" ".join(part.split()) for part in _SENTENCE.findall(clean(text)))
    return [
        one
        for one in sentences
        if len(one) <= LONGEST_RULE
        and _CUES.search(one)
        and not _QUESTION.search(one)
        and not _TELLS_OF_OTHERS.search(one)
    ]


def rule_lines(turns: Iterable[tuple[Turn, date]]) -> list[str]:
    """Items for RULES.md, from turns with their days."""
    return [
        f"{rule.rstrip('.。 ')} ({day}, ref:{turn.id})"
        for turn, day in turns
        for rule in rules_in(turn.text)
    ]


def rule_ops(doc: SectionedDoc, lines: Iterable[str]) -> list[dict[str, object]]:
    """Ops that add the rules, and move the oldest to the archive when more than the most that may hold are there.

    A rule of the archive that is asked for again holds again; the same turn, read twice, brings none back.
    """
    items = items_of(doc)
    active = {folded_rule(item.text) for item in items if not is_archive(item.heading)}
    archived = {folded(item.text) for item in items if is_archive(item.heading)}
    new = [
        line
        for line in lines
        if folded_rule(line) not in active and folded(line) not in archived
    ]
    fresh = list({folded_rule(line): line for line in new}.values())
    ops = ops_for(doc, ACTIVE, fresh)
    return [*ops, *archive_ops(apply_ops(doc, ops).doc)] if ops else []


def archive_ops(doc: SectionedDoc) -> list[dict[str, object]]:
    """Ops that move surplus rules to the archive. Each move is two ops in a row, which policy judges as one."""
    ops: list[dict[str, object]] = []
    after = doc
    for item in surplus_rules(after):
        gone = {
            "op": "remove",
            "heading": item.heading,
            "match": item.text,
            "exact": True,
        }
        moved = [gone, *ops_for(after, ARCHIVED, [item.text])]
        after = apply_ops(after, moved).doc
        ops += moved
    return ops


def folded_rule(text: str) -> str:
    """By what two rules are the same."""
    return parse_item(text).text.casefold().strip(" .")


__all__ = ["ACTIVE", "ARCHIVED", "MOST_ACTIVE", "rule_lines", "rule_ops", "rules_in"]
