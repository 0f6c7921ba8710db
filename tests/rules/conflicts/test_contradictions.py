"""Which statements contradict each other, and which one loses."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.claims.contrasts import contrast
from vault_memory.rules.conflicts.contradictions import (
    Authorship,
    ConflictRules,
    Contradiction,
    Settlement,
    Statement,
    fill_one_slot,
    find_conflicts,
    settle,
)
from vault_memory.rules.conflicts.open_questions import with_marks
from vault_memory.rules.facts.fact import Fact, identified
from vault_memory.rules.facts.values import same_value

TODAY = date(2026, 5, 25)
SINGLE = frozenset({"lives_in", "born_on", "married_to"})
RULES = ConflictRules(TODAY, SINGLE)


def contradict(first: str, second: str) -> bool:
    """Whether two rules cannot both be kept."""
    return fill_one_slot(first, second) or contrast(first, second) is not None


@every(
    ("first", "second"),
    [
        ("I eat meat", "I don't eat meat"),
        ("Alice eats meat", "Alice does not eat any meat"),
        ("The printer is on the second floor", "The printer isn't on the second floor"),
        ("Ich esse Fleisch", "Ich esse kein Fleisch"),
        ("Je mange de la viande", "Je ne mange pas de viande"),
        ("Como carne los lunes", "No como carne los lunes"),
        ("Я ем мясо", "Я не ем мясо"),
        ("我吃肉", "我不吃肉"),
        ("The database listens on port 5433", "The database listens on port 5434"),
        ("Bo has 2 cats", "Bo has 3 cats"),
        ("The rent is 1,200 euros", "The rent is 1300 euros"),
    ],
)
def test_a_negation_or_a_plain_number_contradicts(first: str, second: str) -> None:
    assert contrast(first, second) is not None
    assert contrast(second, first) == contrast(first, second)


@every(
    ("first", "second"),
    [
        ("Flies to Rome on 9 June", "Flies to Rome on 10 June"),
        ("The meeting is at 5", "The meeting is at 6"),
        ("The meeting is at 18:30", "The meeting is at 19:30"),
        ("Moved there in 2019", "Moved there in 2020"),
        ("Swims on Mondays", "Swims on Tuesdays"),
        ("Ann likes tea", "Bo likes tea"),
        ("The rent is 1,200 euros", "The rent is 1200 euros"),
        ("Das Treffen ist um 5", "Das Treffen ist um 6"),
        ("我5月9日去上海", "我5月10日去上海"),
        ("I never eat meat", "I do not eat meat"),
    ],
)
def test_another_date_time_or_name_is_another_truth(first: str, second: str) -> None:
    assert contrast(first, second) is None


@every(
    ("first", "second"),
    [
        ("Always answer in French", "Never answer in French"),
        ("From now on answer in French", "Please reply in English from now on"),
        ("Antworte mir ab jetzt auf Deutsch", "Antworte mir immer auf Englisch"),
        ("Responde siempre en español", "A partir de ahora responde en inglés"),
        ("Réponds toujours en français", "Désormais réponds en anglais"),
        ("Отвечай всегда по-русски", "Впредь отвечай по-английски"),
        ("以后都用中文回答", "以后都用英文回答"),
        ("Call me Ann from now on", "From now on call me Alice"),
        ("Always keep answers short", "From now on write detailed answers"),
        ("Always use metric units", "From now on use miles"),
        ("Ab jetzt duze mich", "Ab jetzt sieze mich"),
    ],
)
def test_two_rules_for_one_choice_contradict(first: str, second: str) -> None:
    assert contradict(first, second)
    assert contradict(second, first)


@every(
    ("first", "second"),
    [
        ("Always answer in French", "When you write to Bo, answer in German"),
        ("Always answer in French", "Always keep answers short"),
        ("Never answer in French", "Never answer in German"),
        ("Always use metric units", "Always mention the source"),
    ],
)
def test_rules_that_can_both_be_kept_do_not_contradict(first: str, second: str) -> None:
    assert not contradict(first, second)


@every(
    ("first", "second", "same"),
    [
        ("9 June 1980", "1980-06-09", True),
        ("June 9th, 1980", "9.6.1980", True),
        ("1980", "1980-06-09", True),
        ("1980年6月9日", "1980-06-09", True),
        ("5,000 km", "5000 km", True),
        ("1.50 m", "1.5 m", True),
        ("1980-06-09", "1980-06-10", False),
        ("5,000 km", "5001 km", False),
        ("v1.50.2", "v1.5.2", False),
    ],
)
def test_dates_and_numbers_compare_by_value(first: str, second: str, same: bool) -> None:
    assert same_value(first, second) == same_value(second, first) == same


def fact(predicate: str, value: str, since: str = "", until: str = "") -> Statement:
    stated = identified(
        Fact(
            "",
            "ann",
            predicate,
            value,
            date.fromisoformat(since) if since else None,
            date.fromisoformat(until) if until else None,
        )
    )
    words = f"ann {predicate}: {value}"
    return Statement(stated.id, "FACTS.md", "ann", stated.line(), words, fact=stated, ref="m1")


@every(
    ("first", "second", "kinds"),
    [
        (fact("likes", "coffee"), fact("dislikes", "Coffee"), ["opposite"]),
        (fact("uses", "vim"), fact("stopped_using", "vim"), ["opposite"]),
        (fact("owns", "a boat"), fact("sold", "a boat"), ["opposite"]),
        (fact("likes", "coffee"), fact("dislikes", "tea"), []),
        (fact("lives_in", "Oslo"), fact("lives_in", "Lima"), ["value"]),
        (fact("lives_in", "Bergen"), fact("lives_in", "Bergen, Norway"), []),
        (fact("born_on", "1980-06-09"), fact("born_on", "9 June 1980"), []),
        (
            fact("married_to", "bo", "2010-01-01", "2020-01-01"),
            fact("married_to", "alice", "2020-01-01"),
            [],
        ),
        (
            fact("likes", "coffee", "2010-01-01", "2020-01-01"),
            fact("dislikes", "coffee", "2021-01-01"),
            [],
        ),
        (fact("speaks", "no French"), fact("speaks", "French"), ["contrast"]),
        (fact("has_pet", "2 cats"), fact("has_pet", "3 cats"), []),
        (fact("has_pet", "a cat"), fact("has_pet", "a dog"), []),
    ],
)
def test_facts_that_cannot_both_hold_are_found(
    first: Statement, second: Statement, kinds: list[str]
) -> None:
    conflicts = find_conflicts([first, second], RULES)

    assert [conflict.kind for conflict in conflicts] == kinds
    assert find_conflicts([second, first], RULES) == conflicts


statements = st.builds(
    fact,
    st.sampled_from(["likes", "dislikes", "lives_in", "has_pet"]),
    st.sampled_from(["coffee", "2 cats", "3 cats", "Oslo", "Lima"]),
    st.sampled_from(["", "2020-01-01", "2024-01-01"]),
)
modes = st.sampled_from(["temporal", "keep_existing", "use_new", "merge", "ask"])


@given(st.lists(statements, max_size=8), modes, st.randoms())
def test_each_device_settles_alike_whatever_the_order_of_lines(
    facts: list[Statement], mode, random
) -> None:
    """Breaks when a decision depends on the order of a page."""
    authors = {
        one.id: Authorship(True, False, f"2026-05-{10 + int(one.id[0], 16)}") for one in facts
    }
    shuffled = facts.copy()
    random.shuffle(shuffled)

    ours = find_conflicts(facts, RULES)
    theirs = find_conflicts(shuffled, RULES)

    assert [conflict.ids for conflict in ours] == [conflict.ids for conflict in theirs]
    for conflict in ours:
        turned = Contradiction(conflict.kind, conflict.second, conflict.first)
        assert settle(conflict, mode, authors) == settle(turned, mode, authors)


def test_a_person_is_asked_unless_a_later_turn_says_it() -> None:
    older = Statement("a", "n", "h", "t", "Bo has 2 cats", day=date(2026, 5, 1), ref="m1")
    newer = Statement("b", "n", "h", "t", "Bo has 3 cats", day=date(2026, 5, 2), ref="m2")
    bot, person = Authorship(is_bots=True), Authorship()
    [conflict] = find_conflicts([newer, older], RULES)

    both = settle(conflict, "temporal", {"a": bot, "b": bot})
    mixed = settle(conflict, "temporal", {"a": person, "b": bot})

    assert both == Settlement(winner=newer, loser=older)
    assert not isinstance(mixed, Settlement)


@every(
    ("text", "expected"),
    [
        ("tea (2026-05-25, ref:m1)", "tea (2026-05-25, ref:m1, conf:0.3)"),
        ("tea (2026-05-25, conf:0.7) ^ab", "tea (2026-05-25, conf:0.3) ^ab"),
        ("tea (green)", "tea (green) (conf:0.3)"),
        ("tea", "tea (conf:0.3)"),
    ],
)
def test_a_mark_changes_no_word(text: str, expected: str) -> None:
    assert with_marks(text, conf="0.3") == expected
    assert with_marks(with_marks(text, unclear="x"), unclear=None) == text
