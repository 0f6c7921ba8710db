"""The ops that settle a conflict, or mark both lines until a person decides. Pure."""

from dataclasses import replace
from datetime import date

from vault_memory.rules.conflicts.contradictions import MergedValues, Settlement, Statement
from vault_memory.rules.conflicts.open_questions import with_marks
from vault_memory.rules.edits.ops import Archive, Op, Remove, Replace
from vault_memory.rules.facts.fact import Fact, begins
from vault_memory.rules.facts.fact_page import LOSES, rewrite


def losing_ops(settlement: Settlement, today: date, learned: str) -> list[Op]:
    """Returns the ops on the loser: a fact ends, a rule is archived, an item loses confidence.

    `learned`: the day on which the winner was learned, ISO or empty.
    """
    loser, winner = settlement.loser, settlement.winner
    if loser.fact:
        return [rewrite(loser.fact, _ended(loser.fact, winner, today, learned))]
    if loser.is_rule:
        return archive(loser)
    line = with_marks(loser.text, conf=f"{LOSES:g}", unclear=None)
    return [Replace(loser.heading, loser.text, line, exact=True)]


def winning_ops(settlement: Settlement) -> list[Op]:
    """Returns the ops on the winner, which names the loser."""
    winner, loser = settlement.winner, settlement.loser
    if winner.fact:
        new = replace(winner.fact, supersedes=loser.id, unclear="")
        return [rewrite(winner.fact, new)]
    line = with_marks(winner.text, supersedes=loser.id, unclear=None)
    return [Replace(winner.heading, winner.text, line, exact=True)]


def merging_ops(merged: MergedValues) -> list[Op]:
    """Returns the ops that join two values in the older line."""
    older, newer = merged.older.fact, merged.newer.fact
    if older is None or newer is None:
        return []
    joined = replace(older, object=f"{older.object}, {newer.object}", unclear="")
    return [Remove(newer.subject, newer.text, exact=True), rewrite(older, joined)]


def with_mark(statement: Statement, rival: str) -> Statement:
    """Returns a statement with the mark `unclear`; an empty `rival` removes it."""
    if statement.fact:
        fact = replace(statement.fact, unclear=rival)
        fact = replace(fact, text=fact.line())
        return replace(statement, text=fact.text, unclear=rival, fact=fact)
    text = with_marks(statement.text, unclear=rival or None)
    return replace(statement, text=text, unclear=rival)


def marking_op(statement: Statement, rival: str) -> Op:
    """Returns the op that adds the mark, or removes it where `rival` is empty."""
    line = with_mark(statement, rival).text
    return Replace(statement.heading, statement.text, line, exact=True)


def retiring_op(statement: Statement) -> Op:
    """Returns the op by which a person lets a statement lose; the same on each night."""
    if statement.fact:
        ended = replace(
            statement.fact,
            struck=True,
            confidence=min(LOSES, statement.fact.confidence),
            unclear="",
        )
        return rewrite(statement.fact, ended)
    if statement.is_rule:
        return Remove(statement.heading, statement.text, exact=True)
    line = with_marks(statement.text, conf=f"{LOSES:g}", unclear=None)
    return Replace(statement.heading, statement.text, line, exact=True)


def archive(rule: Statement) -> list[Op]:
    """Returns the ops that move a rule to the archive."""
    line = with_marks(rule.text, unclear=None)
    move = Archive(rule.heading, line, exact=True)
    if line == rule.text:
        return [move]
    return [Replace(rule.heading, rule.text, line, exact=True), move]


def _ended(fact: Fact, winner: Statement, today: date, learned: str) -> Fact:
    """Returns the loser as it ends when the winner begins, else when the winner was learned.

    A fact that begins later never held: it is struck through without a last day.
    """
    since = winner.fact.valid_from if winner.fact else None
    if since is None and learned:
        since = date.fromisoformat(learned)
    until = since
    if since is None or since < begins(fact):
        until = None
    return replace(
        fact,
        valid_until=until,
        struck=until is None or until <= today,
        confidence=min(LOSES, fact.confidence),
        unclear="",
    )
