"""FACTS.md as a graph: what is read, what becomes of the page when a fact is stated, and the laws of both."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.markdown.document import parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.ops import as_json
from vault_memory.rules.facts.fact import (
    SINGLE,
    Fact,
    current,
    folded,
    has_ended,
    identified,
    read_facts,
    valid_on,
)
from vault_memory.rules.facts.fact_page import (
    Change,
    FactRules,
    add_fact,
    confirm_fact,
    correct_fact,
    delete_fact,
    invalidate_fact,
    is_writable,
    unread_lines,
)

TODAY = date(2026, 6, 1)
RULES = FactRules(TODAY)


def fact(
    subject: str, predicate: str, said: str, since: str = "", until: str = "", **more: object
) -> Fact:
    first = date.fromisoformat(since) if since else None
    last = date.fromisoformat(until) if until else None
    return identified(Fact("", subject, predicate, said, first, last, scope="user:alice", **more))  # type: ignore[arg-type]


def page_after(page: bytes, change: Change) -> bytes:
    """The page after a change, every op of which is JSON that ops accept."""
    outcome = apply_ops(parse(page), [as_json(op) for op in change.ops])
    assert not outcome.rejected, outcome.rejected
    return render(outcome.doc) if any(one.outcome == "applied" for one in outcome.applied) else page


def page_with(page: bytes, *facts: Fact, rules: FactRules = RULES) -> tuple[bytes, list[str]]:
    outcomes = []
    for one in facts:
        change = add_fact(parse(page), one, rules)
        page = page_after(page, change)
        outcomes.append(change.outcome)
    return page, outcomes


def facts_of(page: bytes) -> list[Fact]:
    return read_facts(parse(page), "user:alice")


def lines(page: bytes) -> list[str]:
    return [line.removeprefix("- ") for line in page.decode().splitlines() if line.startswith("- ")]


# ---- reading --------------------------------------------------------------------------------------------------------

READ = [
    (
        "works_at: Acme Corp (since 2026-01-28, ref:1234)",
        ("works_at", "Acme Corp", "2026-01-28", None, False),
    ),
    ("allergic_to: peanuts", ("allergic_to", "peanuts", None, None, False)),
    (
        "visiting: Lisbon (2026-05-01 to 2026-05-09, temporary)",
        ("visiting", "Lisbon", "2026-05-01", "2026-05-09", False),
    ),
    (
        "~~works_at: Initech~~ (2024-03-01 to 2026-01-28)",
        ("works_at", "Initech", "2024-03-01", "2026-01-28", True),
    ),
    ("~~works_at: Initech (since 2024-03-01)~~", ("works_at", "Initech", "2024-03-01", None, True)),
    (
        "~~works_at: Initech (since 2024-03-01)~~ (until 2025-01-01)",
        ("works_at", "Initech", "2024-03-01", "2025-01-01", True),
    ),
    ("works_at: Acme (since 2019)", ("works_at", "Acme", "2019-01-01", None, False)),
    ("works_at: Acme (until 2020-02)", ("works_at", "Acme", None, "2020-02-29", False)),
    ("likes: tea (the green one)", ("likes", "tea (the green one)", None, None, False)),
    (
        "likes: tea (the green one, since 2020-01-01)",
        ("likes", "tea (the green one)", "2020-01-01", None, False),
    ),
    ("likes: tea (ref:7, perhaps)", ("likes", "tea (ref:7, perhaps)", None, None, False)),
    (
        "generator_hours: 17:00 to 23:00 (since 2026-04-01)",
        ("generator_hours", "17:00 to 23:00", "2026-04-01", None, False),
    ),
    ("住在：北京 (since 2026-01-28)", ("住在", "北京", "2026-01-28", None, False)),
    ("работает_в: Заря", ("работает_в", "Заря", None, None, False)),
    ("Works_At: Acme", ("works_at", "Acme", None, None, False)),
    ("works_at: Acme (2026-02-30)", ("works_at", "Acme (2026-02-30)", None, None, False)),
    (
        "works_at: Acme (2026-02-03 to 2025-02-03)",
        ("works_at", "Acme (2026-02-03 to 2025-02-03)", None, None, False),
    ),
]


@every(("line", "expected"), READ, ids=[line for line, _ in READ])
def test_a_line_is_parsed_as_a_fact(line, expected):
    [found] = facts_of(f"## alice\n- {line}\n".encode())

    edges = [day and day.isoformat() for day in (found.valid_from, found.valid_until)]
    assert (found.predicate, found.object, *edges, found.struck) == expected


@every(
    "line",
    [
        "she likes tea",
        "https://example.org/a",
        "17:00 tea",
        "~~all of it~~",
        ": tea",
        "tea:",
        "[ ] call: ~~x",
    ],
)
def test_any_other_line_is_kept_and_listed_as_unread(line):
    page = f"# Facts\n\nsome words\n\n## alice\n- {line}\n- likes: tea\n".encode()

    assert len(facts_of(page)) == 1 + (line == "[ ] call: ~~x")
    assert len(unread_lines(parse(page))) == 1 - (line == "[ ] call: ~~x")
    assert lines(page_with(page, fact("alice", "likes", "cake"))[0])[0] == line


@given(st.binary(max_size=200))
@example(b"## \n- a: b\n")
@example(b"## a\n- a: b (since 2020-01-01) ^x-1\n- ~~a: b~~\n1. c: d\n")
@example(b"\xff## a\n- a: \xff\n")
def test_any_bytes_are_accepted_as_a_page(raw):
    found = facts_of(raw)

    assert all(one.id and one.subject and one.predicate and one.object for one in found)
    assert [one.id for one in facts_of(raw)] == [one.id for one in found]
    current(found, TODAY)
    unread_lines(parse(raw))


words = st.text(st.sampled_from("abcß (),:~#^-东京都яё.0123456789"), min_size=1, max_size=14)
days = st.none() | st.dates(date(2020, 1, 1), date(2030, 1, 1))
predicates = st.sampled_from([*sorted(SINGLE), "likes", "visiting", "uses", "住在"])


SUBJECTS = st.sampled_from(["alice", "Bob", "东京"])


@st.composite
def random_fact(draw, subjects=SUBJECTS):
    first, last = draw(days), draw(days)
    if first and last and first > last:
        first, last = last, first
    made = Fact(
        "",
        draw(subjects),
        draw(predicates),
        " ".join(draw(words).split()),
        first,
        last,
        draw(st.booleans()),
        scope="user:alice",
    )
    return identified(replace(made, temporary=made.temporary or made.predicate == "visiting"))


@given(random_fact(st.just("alice")))
@example(fact("alice", "uses", "x (2020)"))
@example(fact("alice", "uses", "(confirmed)"))
def test_a_written_fact_is_read_back_unchanged(one):
    if one.object and is_writable(one):
        [read] = facts_of(f"## alice\n- {one.line()}\n".encode())
        assert replace(read, text="") == one


def test_case_spaces_and_markup_do_not_change_the_id():
    first, second = (
        facts_of(b"## Alice\n- likes: Green  tea (ref:1)\n"),
        facts_of(b"## alice\n- ~~Likes: green tea~~\n"),
    )

    assert first[0].id == second[0].id
    assert first[0].id != read_facts(parse(b"## alice\n- likes: green tea\n"), "user:bob")[0].id


# ---- stating --------------------------------------------------------------------------------------------------------


def test_the_first_fact_creates_the_page_and_later_ones_join_it():
    page, outcomes = page_with(
        b"",
        fact("alice", "works at", "Acme", "2026-01-28"),
        fact("Alice", "allergic_to", "peanuts"),
    )

    assert outcomes == ["added", "added"]
    assert page == b"## alice\n\n- works_at: Acme (since 2026-01-28)\n- allergic_to: peanuts\n"


def test_a_new_value_ends_the_old_one_on_its_day():
    page, outcomes = page_with(
        b"",
        fact("alice", "works_at", "Initech", "2024-03-01"),
        fact("alice", "works_at", "Acme Corp", "2026-01-28"),
    )

    old, new = facts_of(page)
    assert outcomes == ["added", "superseded"]
    assert lines(page) == [
        "~~works_at: Initech~~ (2024-03-01 to 2026-01-28, conf:0.3)",
        f"works_at: Acme Corp (since 2026-01-28, supersedes:{old.id})",
    ]
    assert [one.id for one in current([old, new], TODAY)] == [new.id]


def test_an_older_fact_never_ends_a_newer_one():
    page, outcomes = page_with(
        b"",
        fact("alice", "lives_in", "Lima", "2026-01-01"),
        fact("alice", "lives_in", "Oslo", "2020-05-01"),
    )

    assert outcomes == ["added", "added"]
    assert lines(page) == [
        "lives_in: Lima (since 2026-01-01)",
        "~~lives_in: Oslo~~ (2020-05-01 to 2026-01-01)",
    ]


def test_a_future_value_keeps_the_old_one_current_until_then():
    page, _ = page_with(
        b"",
        fact("alice", "lives_in", "Lima", "2025-01-01"),
        fact("alice", "lives_in", "Oslo", "2027-01-01"),
    )
    found = facts_of(page)

    assert lines(page)[0] == "lives_in: Lima (2025-01-01 to 2027-01-01, conf:0.3)"
    assert [one.object for one in current(found, TODAY)] == ["Lima"]
    assert [one.object for one in current(found, date(2027, 1, 1))] == ["Oslo"]


def test_a_temporary_value_does_not_end_a_permanent_one():
    page, outcomes = page_with(
        b"",
        fact("alice", "lives_in", "Lima", "2025-01-01"),
        fact("alice", "lives_in", "Oslo", "2026-05-20", "2026-06-20", temporary=True),
        fact("alice", "visiting", "Rome", "2026-05-30", "2026-06-02"),
    )

    assert outcomes == ["added"] * 3
    assert {one.object for one in current(facts_of(page), TODAY)} == {"Lima", "Oslo", "Rome"}


@every(
    ("before", "after", "outcome"),
    [
        ("acme", "acme corp", "refined"),
        ("python", "python 3", "refined"),
        ("acme corp", "acme", "duplicate"),
        ("Acme Corp.", "acme corp", "duplicate"),
        ("the green tea from the corner shop", "green tea from the corner shop", "duplicate"),
        ("the old house by the sea", "the old house near the sea", "duplicate"),
        ("depth 3.4 metres at low water", "depth 3.5 metres at low water", "added"),
        ("C", "C++", "added"),
        ("北京大学", "北京大学医院", "refined"),
        ("чай с лимоном", "чай с молоком", "added"),
        ("чай с лимоном", "чай с  Лимоном", "duplicate"),
    ],
)
def test_a_rewording_is_a_duplicate_and_a_longer_text_a_refinement(before, after, outcome):
    page, outcomes = page_with(
        b"", fact("alice", "uses", before, ref="1"), fact("alice", "uses", after, ref="2")
    )

    assert outcomes == ["added", outcome]
    assert lines(page)[-1].startswith(f"uses: {before if outcome == 'duplicate' else after} (ref:")
    assert len(facts_of(page)) == 1 + (outcome == "added")


def test_an_alias_leads_to_the_section_of_its_entity():
    page = b"## acme corp\n- also_known_as: Acme\n\n## bob\n- likes: tea\n"

    after, outcomes = page_with(page, fact("Acme", "is_a", "organization"))

    assert (outcomes, lines(after)[1]) == (["added"], "is_a: organization")


@pytest.mark.parametrize("written", ["Bergen Oslo", "Bergen Oslo Kiel", "Oslo Bergen Kiel"])
def test_a_value_below_which_a_person_wrote_another_is_said_anew(written: str):
    """The person struck nothing through."""
    values = "".join(f"- lives_in: {value}\n" for value in written.split())
    page = f"## ann\n\n{values}".encode()

    after, [outcome] = page_with(page, fact("ann", "lives_in", "Bergen"))

    assert outcome == "superseded"
    held = current(read_facts(parse(after)), TODAY)
    assert [one.object for one in held] == ["Bergen"]


def test_the_last_line_of_a_person_holds_although_it_stands_above_too():
    page = parse(b"## ann\n\n- lives_in: Kiel\n- lives_in: Oslo\n- lives_in: Kiel\n")

    held = current(read_facts(page), TODAY)

    assert [one.object for one in held] == ["Kiel"]


def test_a_fact_that_ended_and_is_true_again_is_a_new_fact():
    page = b"## alice\n- ~~lives_in: Oslo~~ (2010-01-01 to 2019-01-01)\n- lives_in: Lima (since 2019-01-01)\n"

    after, outcomes = page_with(
        page, fact("alice", "lives_in", "Oslo"), fact("alice", "lives_in", "Oslo")
    )

    assert outcomes == ["superseded", "duplicate"]
    assert [one.object for one in current(facts_of(after), TODAY)] == ["Oslo"]
    assert page_with(page, fact("alice", "lives_in", "Oslo", "2010-01-01"))[1] == ["duplicate"]


@every("conflicts", ["temporal", "keep_existing", "use_new", "merge", "ask"])
def test_conflicting_values_are_handled_as_configured(conflicts):
    rules = FactRules(TODAY, conflicts=conflicts)
    first = b"## alice\n\n- lives_in: Lima (since 2025-01-01)\n"

    change = add_fact(parse(first), fact("alice", "lives_in", "Oslo", "2026-01-01"), rules)
    page = page_after(first, change)

    holds = {one.object: one.confidence for one in current(facts_of(page), TODAY)}
    expected = {
        "keep_existing": {"Lima": 1},
        "merge": {"Lima, Oslo": 1},
        "ask": {"Lima": 1, "Oslo": 1},
    }
    assert holds == expected.get(conflicts, {"Oslo": 1})
    assert len(change.asks) == 2 * (conflicts == "ask")
    assert {one.confidence for one in facts_of(page) if one.struck} <= {0.3}
    assert page_with(page, fact("alice", "lives_in", "Oslo", "2026-01-01"), rules=rules) == (
        page,
        ["duplicate"],
    )


# ---- by id ----------------------------------------------------------------------------------------------------------

PAGE = b"""# Facts\r
\r
## alice\r
\r
- likes: tea (since 2020-01-01, ref:1) ^b-1\r
- likes: tea with milk (since 2020-01-01)\r
  and sugar\r
* odd line\r
"""
TEA = fact("alice", "likes", "tea", "2020-01-01").id


def test_invalidate_strikes_through_only_its_line():
    after = page_after(PAGE, invalidate_fact(parse(PAGE), TEA, "user:alice", TODAY))

    assert after == PAGE.replace(
        b"likes: tea (since 2020-01-01, ref:1)", b"~~likes: tea~~ (2020-01-01 to 2026-06-01, ref:1)"
    )
    assert invalidate_fact(parse(after), TEA, "user:alice", TODAY).outcome == "duplicate"
    assert facts_of(after)[0].id == TEA


def test_delete_removes_only_its_line():
    after = page_after(PAGE, delete_fact(parse(PAGE), TEA, "user:alice"))

    assert after == PAGE.replace(b"- likes: tea (since 2020-01-01, ref:1) ^b-1\r\n", b"")


def test_confirm_marks_its_line():
    after = page_after(PAGE, confirm_fact(parse(PAGE), TEA, "user:alice"))

    assert after == PAGE.replace(b"ref:1)", b"ref:1, confirmed)")
    assert page_after(after, confirm_fact(parse(after), TEA, "user:alice")) == after


def test_correct_replaces_the_value_in_place():
    right = fact("alice", "likes", "coffee", "2020-01-01", ref="1")
    after = page_after(PAGE, correct_fact(parse(PAGE), TEA, right, RULES))

    assert after == PAGE.replace(b"likes: tea (", b"likes: coffee (")
    moved = page_after(
        after, correct_fact(parse(after), right.id, replace(right, subject="bob"), RULES)
    )
    assert b"coffee" in moved.split(b"## bob")[1]


def test_an_unknown_id_or_one_of_another_scope_changes_nothing():
    for found in (
        invalidate_fact(parse(PAGE), TEA, "user:alices", TODAY),
        delete_fact(parse(PAGE), TEA, "user:Alice"),
        confirm_fact(parse(PAGE), "0" * 10, "user:alice"),
        correct_fact(
            parse(PAGE), TEA, replace(fact("alice", "likes", "x"), scope="channel:alice"), RULES
        ),
    ):
        assert (found.outcome, found.ops) == ("unknown", ())


# ---- laws -----------------------------------------------------------------------------------------------------------


def writable(facts):
    return [one for one in facts if one.object and is_writable(one)]


@settings(max_examples=cases(150))
@given(st.lists(random_fact(), max_size=8), days)
@example(
    [fact("alice", "lives_in", "a", "2021-01-01"), fact("alice", "lives_in", "b")], date(2025, 1, 1)
)
def test_a_single_valued_predicate_has_one_value_on_any_day(facts, day):
    page, _ = page_with(b"", *writable(facts))
    seen = [
        (folded(one.subject), one.predicate)
        for one in current(facts_of(page), day or TODAY)
        if one.predicate in SINGLE and not one.temporary
    ]

    assert len(seen) == len(set(seen))


@settings(max_examples=cases(150))
@given(st.lists(random_fact(st.just("alice")), min_size=1, max_size=6), st.data())
def test_adding_a_fact_twice_stores_it_once(facts, data):
    facts = writable(facts)
    page, _ = page_with(b"", *facts)
    if facts:
        again = data.draw(st.sampled_from(facts))
        once, first = page_with(page, again)
        twice, second = page_with(once, again)
        assert second == ["duplicate"], (first, once)
        assert twice == once


@settings(max_examples=cases(150))
@given(st.lists(random_fact(), max_size=6), random_fact())
def test_no_fact_is_ended_by_an_older_one(facts, new):
    page, _ = page_with(b"", *writable(facts))
    if not new.object or not is_writable(new):
        return
    before = {one.id: one for one in facts_of(page)}
    change = add_fact(parse(page), new, RULES)
    after = facts_of(page_after(page, change))

    since = next((one.valid_from for one in after if one.id == change.id), None)
    for ended in change.ended:
        assert since is not None
        assert before[ended].valid_from is None or before[ended].valid_from <= since
    for one in after:
        assert (
            one.valid_from is None or one.valid_until is None or one.valid_from <= one.valid_until
        )
        assert one.id in before or one.id == change.id
    assert change.outcome == "refined" or set(before) <= {one.id for one in after}


@settings(max_examples=cases(100))
@given(
    st.lists(random_fact(), min_size=1, max_size=5),
    random_fact(),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_lines_not_named_by_a_change_stay_unchanged(facts, new, end):
    made, _ = page_with(b"", *writable(facts))
    page = (
        b"\xef\xbb\xbf# Top"
        + end
        + end
        + made.replace(b"\n", end)
        + b"## zed"
        + end
        + b"* odd \t"
        + end
        + b"words"
    )
    if not new.object or not is_writable(new):
        return
    change = add_fact(parse(page), new, RULES)
    touched = {op.match for op in change.ops if hasattr(op, "match")}
    kept = [line for line in page.split(end) if not any(text.encode() in line for text in touched)]

    after = page_after(page, change).split(end)

    left = iter(after)
    assert all(line in left for line in kept if line)


@settings(max_examples=cases(150))
@given(st.lists(random_fact(), max_size=6), random_fact(), st.dates(date(2020, 1, 1), TODAY))
@example(
    [fact("alice", "lives_in", "Bergen")],
    fact("alice", "lives_in", "Oslo", "2026-05-01"),
    date(2026, 4, 30),
)
def test_a_new_value_does_not_change_what_was_true_before_it(facts, new, day):
    page, _ = page_with(b"", *writable(facts))
    if not new.object or not is_writable(new):
        return
    change = add_fact(parse(page), new, RULES)
    after = facts_of(page_after(page, change))
    since = next((one.valid_from for one in after if one.id == change.id), None)
    if change.outcome != "superseded" or since is None or day >= since:
        return

    def said(facts):
        return {(one.subject, one.predicate, one.object) for one in facts if one.id != change.id}

    assert said(current(after, day)) == said(current(facts_of(page), day))
    assert said(valid_on(after, day)) == said(valid_on(facts_of(page), day))


HOUSES = b"""## alice

- ~~lives_in: Bergen~~ (2019-01-01 to 2024-05-01)
- lives_in: Oslo (since 2024-05-01)
- ~~owns: a boat~~
- ~~visiting: Rome~~ (2024-02-01 to 2024-12-01)
"""


@every(
    ("day", "held"),
    [
        ("2018-12-31", []),
        ("2019-01-01", ["Bergen"]),
        ("2024-03-01", ["Bergen", "Rome"]),
        ("2024-05-01", ["Oslo", "Rome"]),
    ],
)
def test_the_value_on_a_past_day_follows_from_the_dates_on_the_page(day, held):
    assert [one.object for one in valid_on(facts_of(HOUSES), date.fromisoformat(day))] == held


def test_a_visit_that_was_struck_through_does_not_become_current_again():
    today = date(2024, 3, 1)

    assert [one.object for one in current(facts_of(HOUSES), today)] == ["Bergen"]


def test_a_fact_ends_after_its_last_day():
    one = fact("alice", "visiting", "Rome", "2026-05-01", "2026-06-01")

    assert not has_ended(one, TODAY)
    assert has_ended(one, TODAY + timedelta(days=1))
