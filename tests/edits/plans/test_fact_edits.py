"""What the wishes about facts make of a page, and what the person has the last word on."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from vault_memory.edits.audit.deleted_items import DeletedItem
from vault_memory.edits.commands import ChangeFacts, EditCommand
from vault_memory.edits.plans.fact_edits import fact_of, plan_facts, wish_of
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.rules.facts.fact import Fact, identified
from vault_memory.rules.facts.fact_page import FactRules

NOTE = "Users/alice/bot/config/FACTS.md"
SCOPE = "user:alice"
RULES = FactRules(date(2026, 11, 29))
INPUTS = PlanInputs(records=lambda note: (), bytes_of=lambda revision: None)
PAGE = b"## alice\n- works_at: Acme\n- owns: a kayak\n"


def fact(predicate: str, value: str, **more: Any) -> Fact:
    return identified(Fact("", "alice", predicate, value, scope=SCOPE, **more))


def adds(predicate: str, value: str, **more: Any) -> dict[str, Any]:
    return wish_of("add", SCOPE, RULES, fact=fact(predicate, value, **more))


def planned(
    *wishes: dict[str, Any],
    page: bytes | None = PAGE,
    source: str = "cli",
    spoken: dict[str, str] | None = None,
    inputs: PlanInputs = INPUTS,
) -> EditPlan:
    moment = "2026-11-29T12:00:00+00:00"
    command = EditCommand("1", moment, NOTE, "facts", source, ChangeFacts(wishes), spoken=spoken)
    return plan_facts(command, wishes, page, inputs)


def text(plan: EditPlan) -> str:
    return (plan.after or b"").decode()


def reasons(plan: EditPlan) -> list[str]:
    return [rejected.reason for rejected in plan.rejected]


def outcomes(plan: EditPlan) -> list[str]:
    return [op.remark.split()[-1] for op in plan.applied if op.remark]


def test_what_a_fact_says_survives_the_store_of_commands() -> None:
    said = fact(
        "works_at",
        "Acme",
        valid_from=date(2026, 1, 2),
        valid_until=date(2026, 3, 4),
        temporary=True,
        confidence=0.5,
        ref="t1",
        origin="person",
        struck=True,
        supersedes="ab12",
        confirmed=True,
        topic="work",
        unclear="cd34",
    )

    assert fact_of(wish_of("add", SCOPE, RULES, fact=said)) == said


@pytest.mark.parametrize("source", ["cli", "nightly", "tool"])
def test_the_second_wish_is_worked_out_on_the_text_of_the_first(source: str) -> None:
    plan = planned(adds("lives_in", "Porto"), adds("likes", "tea"), page=None, source=source)

    assert text(plan) == "## alice\n\n- lives_in: Porto\n- likes: tea\n"
    assert outcomes(plan) == ["added", "added"]
    assert not plan.rejected


@pytest.mark.parametrize(
    ("do", "value", "line"),
    [
        (
            "add",
            "Initech",
            "- ~~works_at: Acme~~ (until 2026-11-29, conf:0.3)\n"
            "- works_at: Initech (since 2026-11-29, supersedes:451c7554c9)",
        ),
        ("correct", "Initech", "- works_at: Initech"),
        ("confirm", None, "- works_at: Acme (confirmed)"),
        ("invalidate", None, "- ~~works_at: Acme~~ (until 2026-11-29)"),
        ("delete", None, ""),
    ],
)
def test_each_wish_changes_its_fact_and_no_other(do: str, value: str | None, line: str) -> None:
    id_ = fact("works_at", "Acme").id
    new = fact("works_at", value) if value else None

    plan = planned(wish_of(do, SCOPE, RULES, id=id_, fact=new))

    lines = text(plan).splitlines()
    assert sorted(lines) == sorted(["## alice", *line.splitlines(), "- owns: a kayak"])
    assert plan.before == PAGE


def test_a_fact_that_is_known_changes_nothing() -> None:
    plan = planned(adds("owns", "a kayak"))

    assert not plan.changes
    assert outcomes(plan) == ["duplicate"]


def inputs_where_deleted(*texts: str, said_later: bool = False) -> PlanInputs:
    """A person has deleted these lines of another note of the scope."""
    gone = [DeletedItem("USER.md", "alice", one, one, is_fact=False) for one in texts]

    def find(heading: str, line: str) -> tuple[DeletedItem, ...]:
        return tuple(item for item in gone if item.text in line)

    return replace(INPUTS, deleted=lambda note: find, said_later=lambda *_: said_later)


@pytest.mark.parametrize("source", ["nightly", "tool"])
def test_the_bot_does_not_state_again_what_a_person_deleted(source: str) -> None:
    inputs = inputs_where_deleted("likes: tea")

    plan = planned(
        adds("likes", "tea"), adds("likes", "rain"), source=source, spoken={}, inputs=inputs
    )

    assert reasons(plan) == ["deleted_by_person"]
    assert "tea" not in text(plan)
    assert "- likes: rain" in text(plan)


def test_what_the_person_says_after_the_deletion_is_stated_again() -> None:
    inputs = inputs_where_deleted("likes: tea", said_later=True)

    plan = planned(adds("likes", "tea", ref="t2"), source="nightly", spoken={}, inputs=inputs)

    assert "- likes: tea (ref:t2)" in text(plan)


def test_a_person_may_state_again_what_they_deleted() -> None:
    plan = planned(adds("likes", "tea"), inputs=inputs_where_deleted("likes: tea"))

    assert "- likes: tea" in text(plan)


def test_a_tool_stores_no_secret_and_the_value_before_it_stays() -> None:
    inputs = replace(INPUTS, kept_out=lambda heading, lines: "secret")

    refused = planned(adds("works_at", "4417"), source="tool", inputs=inputs)
    allowed = planned(adds("works_at", "4417"), source="cli", inputs=inputs)

    assert reasons(refused) == ["secret"]
    assert text(refused) == PAGE.decode()
    assert "4417" in text(allowed)
