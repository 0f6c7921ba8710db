"""A text stays as it was given, through each way of an edit: written twice, replaced, removed, undone, approved."""

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.commands import EditText

NOTE = "## Tea\n{}\n\n## Boats\n\nAll of them.\n"
LISTS = {
    "dashes": "- green",
    "stars": "* green",
    "pluses": "+ green",
    "numbers": "7. green",
    "brackets": "7) green",
    "tasks": "- [ ] green\n- [x] black",
    "loose": "- green\n\n- black",
    "no list": "Only words.",
}
TEXTS = [
    "24. Dezember: Oma",
    "1. FC Union",
    "1) first",
    "2026. A year",
    "\\+ 5 points",
    "\\* starred",
    "1.5 litres",
    "- of a model",
]


def outcomes(edit) -> list[str]:
    return [done.outcome for done in edit.applied] + [refused.reason for refused in edit.rejected]


def replace(desk: Desk, match: str, line: str, **asked):
    return desk.do({"op": "replace", "heading": "Tea", "match": match, "line": line}, **asked)


@pytest.mark.sampled
@pytest.mark.parametrize("source", ["cli", "tool", "nightly"])
@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("line", TEXTS)
def test_a_text_is_one_text_in_every_edit(desk: Desk, listed: str, line: str, source: str):
    desk.save(NOTE.format(LISTS[listed]))
    before = desk.raw()
    text = line.removeprefix("- ").replace("\\", "")

    added = desk.append(line, source=source)
    assert outcomes(added) == ["applied"]
    assert outcomes(desk.append(line, source=source)) == ["noop_dup"]
    changed = replace(desk, line.removeprefix("- "), f"{text}, again", source=source)
    assert outcomes(changed) == ["applied"]
    assert f"{text}, again" in desk.text().replace("\\", "")
    desk.undo(changed.audit_id)
    removal = {"op": "remove", "heading": "Tea", "match": text}
    removed = desk.do(removal)
    assert outcomes(removed) == ["applied"]
    assert text not in desk.text().replace("\\", "")
    desk.undo(removed.audit_id)
    desk.undo(added.audit_id)
    assert desk.raw() == before


@pytest.mark.parametrize("line", TEXTS)
def test_an_undo_finds_the_text_in_a_note_that_a_person_changed(desk: Desk, line: str):
    desk.save(NOTE.format("* green"))
    added = desk.append(line)
    desk.save(desk.text().replace("All of them.", "Most of them."))

    desk.undo(added.audit_id)

    assert desk.text() == NOTE.format("* green").replace("All", "Most")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("person", "match", "line", "after"),
    [
        ("- [ ] water plants", "water plants", "[x] water plants", "- [x] water plants"),
        ("* [x] water plants", "water", "[ ] water plants", "* [ ] water plants"),
        ("1. [/] water plants", "water plants", "[-] water plants", "1. [-] water plants"),
        ("- [ ] water plants 📅 2026-05-01 ^t1", "water plants", "[x] water plants", "- [x] water plants 📅 2026-05-01 ^t1"),
        ("- [ ] call **Ann**\n  about it", "- [ ] call Ann", "- [x] call Ann", "- [x] call **Ann**\n  about it"),
        ("- [x] water plants", "water plants", "water roses", "- [x] water roses"),
        ("- 24. Dezember: Oma", "24. Dezember", "25. Dezember: Oma", "- 25\\. Dezember: Oma"),
        ("- green ^id", "green", "black", "- black ^id"),
        ("- green\n  id:: 64f0", "green", "black", "- black\n  id:: 64f0"),
        ("- green\n  > quote\n  - deep", "green", "black", "- black\n  > quote\n  - deep"),
        ("- green\n\n  More.\n\n  ```\n  x\n  ```", "green", "black", "- black\n\n  More.\n\n  ```\n  x\n  ```"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("later", ["", "Most of them."])
def test_a_proposed_replacement_changes_the_same_when_it_is_approved(
    desk: Desk, person: str, match: str, line: str, after: str, later: str
):
    desk.save(NOTE.format(person))
    [proposal] = replace(desk, match, line, source="tool").proposed
    assert desk.text() == NOTE.format(person)

    found = desk.curator.inbox.find(proposal.id)
    approved = desk.curator.inbox.decide(found, "approved", desk.now)

    assert desk.text() == NOTE.format(after)
    if later:
        desk.save(desk.text().replace("All of them.", later))
    desk.undo(approved.audit_id)
    assert desk.text() == NOTE.format(person).replace("All of them.", later or "All of them.")


def test_a_proposal_to_tick_a_task_is_stale_when_a_person_ticked_it(desk: Desk):
    desk.save(NOTE.format("- [ ] green"))
    replace(desk, "green", "[x] green", source="tool")
    desk.save(NOTE.format("- [x] green"))

    desk.curator.inbox.review("USER.md", desk.now)

    [proposal] = desk.curator.inbox.proposals()
    assert (proposal.state, proposal.reason) == ("stale", "it is there already")


def test_a_bots_task_stays_its_own_when_it_is_ticked(desk: Desk):
    desk.append("[ ] water plants", source="tool")
    desk.save(desk.text().replace("[ ]", "[x]"))

    edit = replace(desk, "water plants", "[-] water plants", source="tool")

    assert outcomes(edit) == ["applied"]
    assert edit.proposed == ()


def test_a_text_edit_that_ticks_a_persons_task_is_proposed_as_a_tick(desk: Desk):
    desk.save(NOTE.format("- [ ] green"))
    edit = {"op": "str_replace", "old_str": "[ ] green", "new_str": "[x] green"}
    command = desk.curator.new_command("USER.md", "tool", desk.now, EditText(edit))

    [proposal] = desk.curator.run(command, desk.now).proposed

    assert proposal.op == {"op": "replace", "heading": "Tea", "match": "green", "line": "[x] green"}


@pytest.mark.sampled
@pytest.mark.parametrize(
    "below",
    [
        "\n\n  More of it.",
        "\n  ```\n  x\n  ```",
        "\n  > quote",
        "\n  | a | b |\n  |---|---|",
        "\n  ![[leaf.png]]",
        "\n  id:: 64f0",
        "\n  SCHEDULED: <2026-05-01 Fri>",
        " ^t1",
        "\n  - deep",
    ],
)
@pytest.mark.parametrize(("box", "new_box"), [("", ""), ("[ ] ", "[x] ")])
def test_a_text_edit_of_a_persons_item_leaves_what_belongs_to_it(
    desk: Desk, below: str, box: str, new_box: str
):
    desk.save(NOTE.format(f"- {box}green{below}"))
    edit = {"op": "str_replace", "old_str": f"- {box}green", "new_str": f"- {new_box}black"}
    command = desk.curator.new_command("USER.md", "tool", desk.now, EditText(edit))

    [proposal] = desk.curator.run(command, desk.now).proposed
    found = desk.curator.inbox.find(proposal.id)
    approved = desk.curator.inbox.decide(found, "approved", desk.now)

    assert desk.text() == NOTE.format(f"- {new_box}black{below}")
    desk.undo(approved.audit_id)
    assert desk.text() == NOTE.format(f"- {box}green{below}")
