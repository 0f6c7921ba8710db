"""A section moves to another note with its bytes, and only once."""

from datetime import UTC, datetime

import pytest

from vault_memory.edits.commands import EditCommand, MoveSections, SectionMove
from vault_memory.edits.plans.edit_plan import EditPlan
from vault_memory.edits.plans.move_sections import moves_of, plan_moves, stands_in
from vault_memory.markdown.document import parse_main

SOURCE, TARGET = "AGENT.md", "USER.md"
BOATS = "## Boats\n\n- red\n- blue\n"


def planned(note: str, before: str | None, *sections: str) -> EditPlan:
    moves = tuple(SectionMove(section, SOURCE, TARGET) for section in sections)
    now = datetime.now(UTC).isoformat()
    command = EditCommand("1", now, note, "user", "cli", MoveSections(moves))
    return plan_moves(command, moves, None if before is None else before.encode())


def outcomes(plan: EditPlan) -> list[str]:
    return [op.outcome for op in plan.applied]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, BOATS),
        ("", BOATS),
        ("# Me\n", f"# Me\n\n{BOATS}"),
        ("# Me\n\n", f"# Me\n\n{BOATS}"),
        ("# Me", f"# Me\n\n{BOATS}"),
        ("# Me\r\n", "# Me\r\n\r\n" + BOATS.replace("\n", "\r\n")),
    ],
)
def test_a_section_stands_at_the_end_of_its_target(before: str | None, after: str) -> None:
    plan = planned(TARGET, before, BOATS)

    assert plan.after == after.encode()
    assert outcomes(plan) == ["applied"]
    assert plan.applied[0].op == {"op": "move", "heading": "Boats", "from": SOURCE, "to": TARGET}
    assert stands_in(after.encode(), SectionMove(BOATS, SOURCE, TARGET))


@pytest.mark.parametrize("before", [BOATS, "## Boats\n\n- blue\n- mine\n- red\n"])
def test_a_section_that_stands_in_the_target_is_not_put_again(before: str) -> None:
    plan = planned(TARGET, before, BOATS)

    assert plan.after == before.encode()
    assert outcomes(plan) == ["noop_dup"]


@pytest.mark.parametrize("before", ["## Boats\n\n- red\n", "## Ships\n\n- red\n- blue\n"])
def test_a_section_of_other_lines_or_another_name_is_not_the_same(before: str) -> None:
    assert not stands_in(before.encode(), SectionMove(BOATS, SOURCE, TARGET))
    assert outcomes(planned(TARGET, before, BOATS)) == ["applied"]


def test_a_section_leaves_its_source_with_its_bytes() -> None:
    plan = planned(SOURCE, f"# Agent\n\n{BOATS}\n## Tea\n\n- green\n", f"{BOATS}\n")

    assert plan.after == b"# Agent\n\n## Tea\n\n- green\n"
    assert outcomes(plan) == ["applied"]
    assert plan.applied[0].removed == f"{BOATS}\n".encode()


@pytest.mark.parametrize("before", ["# Agent\n", "## Boats\n\n- red\n- blue\n- of a person\n"])
def test_a_section_that_changed_or_is_gone_stays_where_it_is(before: str) -> None:
    plan = planned(SOURCE, before, BOATS)

    assert plan.after == before.encode()
    assert outcomes(plan) == ["noop_no_match"]


def test_an_open_fence_swallows_no_section() -> None:
    plan = planned(TARGET, "# Me\n\n```\nopen\n", BOATS)

    assert plan.after == plan.before
    assert [refused.reason for refused in plan.rejected] == ["would_change_structure"]


def test_bytes_that_are_no_text_are_left_in_the_source() -> None:
    raw = b"## Boats\n\n- \xff\n"
    [move] = moves_of(parse_main(raw).sections, SOURCE, TARGET)

    assert not move.text.isprintable()
    plan = planned(TARGET, "# Me\n", move.text)
    assert [refused.reason for refused in plan.rejected] == ["not_text"]
    assert plan.after == b"# Me\n"


def test_several_sections_move_together() -> None:
    tea = "## Tea\n\n- green\n"
    moves = moves_of(parse_main(f"{BOATS}{tea}".encode()).sections, SOURCE, TARGET)

    plan = planned(TARGET, "# Me\n", *(move.text for move in moves))

    assert plan.after == f"# Me\n\n{BOATS}\n{tea}".encode()
