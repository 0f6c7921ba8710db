"""The ops that settle a contradiction, or mark both lines until a person decides."""

from datetime import date
from typing import Any

from vault_memory.rules.conflicts import settling
from vault_memory.rules.conflicts.contradictions import MergedValues, Settlement, Statement
from vault_memory.rules.edits.ops import Archive, Op, Remove, Replace
from vault_memory.rules.facts.fact import Fact, identified, read_fact
from vault_memory.rules.facts.fact_page import LOSES

TODAY = date(2026, 5, 25)


def fact(value: str, predicate: str = "lives_in", **more: Any) -> Statement:
    made = identified(Fact("", "Bo", predicate, value, scope="user:mira", **more))
    read = read_fact(made.line(), "Bo", "user:mira")
    assert read is not None
    return Statement(read.id, "FACTS.md", "Bo", read.text, value, fact=read)


def item(text: str, id: str = "k7", *, is_rule: bool = False) -> Statement:
    return Statement(id, "USER.md", "Tea", text, text, is_rule=is_rule)


def new_fact(op: Op) -> Fact:
    assert isinstance(op, Replace)
    assert op.exact
    found = read_fact(op.line, "Bo", "user:mira")
    assert found is not None
    return found


def test_a_fact_that_loses_ends_when_the_winner_begins() -> None:
    old, new = fact("Porto"), fact("Bergen", valid_from=date(2026, 5, 1))

    [op] = settling.losing_ops(Settlement(new, old), TODAY, "2026-05-20")

    assert isinstance(op, Replace)
    assert (op.heading, op.match) == ("Bo", old.text)
    ended = new_fact(op)
    assert (ended.valid_until, ended.struck, ended.unclear) == (date(2026, 5, 1), True, "")
    assert ended.confidence == LOSES


def test_without_a_begin_it_ends_on_the_day_on_which_the_winner_was_learned() -> None:
    old, new = fact("Porto"), fact("Bergen")

    for learned, until, struck in (
        ("2026-05-20", date(2026, 5, 20), True),
        ("2026-05-25", date(2026, 5, 25), True),
        ("2026-06-01", date(2026, 6, 1), False),
        ("", None, True),
    ):
        [op] = settling.losing_ops(Settlement(new, old), TODAY, learned)
        ended = new_fact(op)
        assert (ended.valid_until, ended.struck) == (until, struck), learned


def test_a_fact_that_begins_after_the_winner_never_held() -> None:
    old = fact("Porto", valid_from=date(2026, 5, 10))
    same = fact("Porto", valid_from=date(2026, 5, 1))
    new = fact("Bergen", valid_from=date(2026, 5, 1))

    [never] = settling.losing_ops(Settlement(new, old), TODAY, "")
    [once] = settling.losing_ops(Settlement(new, same), TODAY, "")

    assert (new_fact(never).valid_until, new_fact(never).struck) == (None, True)
    assert new_fact(once).valid_until == date(2026, 5, 1)


def test_the_winner_names_the_loser_and_loses_its_mark() -> None:
    old, new = fact("Porto"), fact("Bergen", unclear="ab12")

    [op] = settling.winning_ops(Settlement(new, old))
    assert (new_fact(op).supersedes, new_fact(op).unclear) == (old.id, "")
    [of_item] = settling.winning_ops(Settlement(item("green (unclear:x1)"), item("black", "x1")))
    assert of_item == Replace("Tea", "green (unclear:x1)", "green (supersedes:x1)", exact=True)


def test_an_item_that_loses_is_less_certain_and_a_rule_is_archived() -> None:
    marked = item("green (2026-01-01, unclear:x1)")
    winner = item("black", "x1")

    assert settling.losing_ops(Settlement(winner, marked), TODAY, "") == [
        Replace("Tea", marked.text, f"green (2026-01-01, conf:{LOSES:g})", exact=True)
    ]
    plain, rule = item("be short", is_rule=True), item("be short (unclear:x1)", is_rule=True)
    assert settling.losing_ops(Settlement(winner, plain), TODAY, "") == [
        Archive("Tea", "be short", exact=True)
    ]
    assert settling.archive(rule) == [
        Replace("Tea", "be short (unclear:x1)", "be short", exact=True),
        Archive("Tea", "be short", exact=True),
    ]


def test_two_values_are_joined_in_the_older_line() -> None:
    older, newer = fact("tea", "likes", unclear="ab12"), fact("milk", "likes")

    remove, rewrite = settling.merging_ops(MergedValues(older, newer))

    assert remove == Remove("Bo", newer.text, exact=True)
    joined = new_fact(rewrite)
    assert (joined.object, joined.unclear) == ("tea, milk", "")
    assert settling.merging_ops(MergedValues(item("a"), newer)) == []
    assert settling.merging_ops(MergedValues(older, item("a"))) == []


def test_a_mark_is_put_on_a_line_and_taken_off_again() -> None:
    for statement in (fact("Porto"), item("green (2026-01-01)")):
        marked = settling.with_mark(statement, "x1")
        assert marked.unclear == "x1"
        assert "unclear:x1" in marked.text
        assert settling.marking_op(statement, "x1") == Replace(
            statement.heading, statement.text, marked.text, exact=True
        )
        again = settling.with_mark(marked, "")
        assert (again.text, again.unclear) == (statement.text, "")
    of_fact = settling.with_mark(fact("Porto"), "x1")
    assert of_fact.fact is not None
    assert (of_fact.fact.unclear, of_fact.fact.text) == ("x1", of_fact.text)


def test_a_person_lets_a_statement_lose_by_the_same_op_on_each_night() -> None:
    sure = fact("Porto", confidence=0.9, unclear="ab12")
    unsure = fact("Porto", confidence=LOSES / 2)

    retired = new_fact(settling.retiring_op(sure))
    assert (retired.struck, retired.valid_until, retired.unclear) == (True, None, "")
    assert retired.confidence == LOSES
    assert new_fact(settling.retiring_op(unsure)).confidence == LOSES / 2
    assert settling.retiring_op(item("short", is_rule=True)) == Remove("Tea", "short", exact=True)
    assert settling.retiring_op(item("green (unclear:x1)")) == Replace(
        "Tea", "green (unclear:x1)", f"green (conf:{LOSES:g})", exact=True
    )
