"""Facts, as a person and a script use them: the commands, their JSON, and what an editor changes."""

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.outside import Outside, until

NOTE = "Users/alice/bot/config/FACTS.md"
PAGE = "## alice\n\n- works_at: Initech (since 2024-03-01)\n- likes: tea\n\n## acme corp\n\n- also_known_as: Acme\n"
FACT = {
    "id",
    "subject",
    "predicate",
    "object",
    "valid_from",
    "valid_until",
    "temporary",
    "confidence",
    "ref",
}
AHEAD = ("--now", "2090-01-01")


@pytest.fixture
def person(outside: Outside) -> Outside:
    outside.quick = True
    outside.write("Users/alice/bot/config/USER.md", "# Alice\n\n- tall\n")
    outside.write(NOTE, PAGE)
    return outside


def facts(person: Outside, *options: str) -> list[dict[str, Any]]:
    return list(person.ok("facts", *AHEAD, *options)["facts"])


def text(person: Outside) -> str:
    return (person.vault / NOTE).read_text()


def id_of(person: Outside, said: str) -> str:
    return str(next(one["id"] for one in facts(person) if one["object"] == said))


def test_facts_and_timeline_have_the_keys_of_the_contract(person: Outside):
    found = facts(person, "--entity", "alice")

    assert [one["object"] for one in found] == ["Initech", "tea"]
    assert all(set(one) >= FACT for one in found)
    assert (found[0]["valid_from"], found[0]["valid_until"], found[0]["confidence"]) == (
        "2024-03-01",
        None,
        1.0,
    )
    assert person.ok("timeline", "alice")["facts"][0]["object"] == "tea"
    assert "works_at: Initech (since 2024-03-01)" in person.run("facts").out


def test_add_fact_reports_its_outcome(person: Outside):
    done = person.ok(
        "add-fact", "alice", "works_at", "Acme Corp", "--from", "2026-01-28", "--ref", "7", *AHEAD
    )

    assert done["outcome"] == "superseded"
    assert done["audit_id"]
    old, new = person.ok("timeline", "alice", *AHEAD)["facts"][-2:]
    assert (old["valid_until"], old["ended"], old["confidence"]) == ("2026-01-28", True, 0.3)
    assert (new["id"], new["supersedes"]) == (done["id"], old["id"])
    outcomes = [
        person.ok("add-fact", "alice", *said, *AHEAD)["outcome"]
        for said in (
            ("likes", "tea"),
            ("likes", "tea with milk"),
            ("visiting", "Lisbon", "--until", "2090-02-01"),
        )
    ]
    assert outcomes == ["duplicate", "refined", "added"]
    assert "visiting: Lisbon (until 2090-02-01, temporary)\n" in text(person)


@pytest.mark.parametrize(
    ("command", "outcome", "line"),
    [
        (["invalidate"], "invalidated", "- ~~likes: tea~~ (until 2090-01-01)\n"),
        (["confirm"], "confirmed", "- likes: tea (confirmed)\n"),
        (["correct", "coffee"], "corrected", "- likes: coffee\n"),
        (["correct", "--from", "2020-01-01"], "corrected", "- likes: tea (since 2020-01-01)\n"),
        (["delete-fact"], "deleted", ""),
    ],
)
def test_a_fact_can_be_changed_by_its_id_and_the_change_undone(
    person: Outside, command: list[str], outcome: str, line: str
):
    name, *more = command
    done = person.ok(name, id_of(person, "tea")[:8], *more, *AHEAD)

    assert done["outcome"] == outcome
    assert text(person) == PAGE.replace("- likes: tea\n", line)
    person.ok("undo", done["audit_id"], *AHEAD)
    assert text(person) == PAGE


@pytest.mark.parametrize("command", [["invalidate"], ["confirm"], ["delete-fact"], ["correct"]])
def test_an_unknown_id_lists_candidates_and_changes_nothing(person: Outside, command: list[str]):
    more = ["x"] if command == ["correct"] else []
    done = person.run(*command, "tea", *more, "--json")

    assert (done.code, done.error["code"]) == (2, "unclear_id")
    assert done.error["candidates"] == [id_of(person, "tea")]
    assert "likes: tea" in person.run(*command, "ffffffffff", *more).err
    assert person.run(*command, id_of(person, "tea"), *more, "--user", "bob").code == 2
    assert text(person) == PAGE


def test_entity_has_the_keys_of_the_contract(person: Outside):
    person.write("Users/alice/memories/work.md", "- Acme Corp moved\n- Acme grew\n")

    found = person.ok("entity", "acme")

    assert {"name", "type", "aliases", "facts", "mentions", "hits"} <= set(found)
    assert (found["name"], found["aliases"], found["mentions"] >= 2) == (
        "acme corp",
        ["Acme"],
        True,
    )
    assert "acme corp: other (also Acme)" in person.run("entity", "Acme").out


def test_a_fact_goes_to_the_page_of_its_subject_or_of_the_only_person(person: Outside):
    assert person.ok("add-fact", "zed", "likes", "tea", *AHEAD)["note"] == NOTE
    person.write("Users/bob/bot/config/USER.md", "# Bob\n")

    assert (
        person.ok("add-fact", "bob", "likes", "tea", *AHEAD)["note"]
        == "Users/bob/bot/config/FACTS.md"
    )
    unclear = person.run("add-fact", "carol", "likes", "tea", "--json")
    assert (unclear.code, unclear.error["candidates"]) == (2, ["user:alice", "user:bob"])
    named = person.ok("add-fact", "carol", "likes", "tea", "--channel", "harbour", *AHEAD)
    assert named["note"] == "Channels/harbour/FACTS.md"


def test_the_bot_only_proposes_and_a_dry_run_writes_nothing(person: Outside):
    dry = person.ok("add-fact", "alice", "works_at", "Acme", "--dry-run", *AHEAD)
    assert (dry["outcome"], dry["audit_id"], text(person)) == ("superseded", None, PAGE)

    proposed = person.ok("invalidate", id_of(person, "tea"), "--source", "tool", *AHEAD)

    assert (proposed["outcome"], len(proposed["proposed"]), text(person)) == ("proposed", 1, PAGE)


def test_adding_to_an_unwritable_page_exits_with_75(person: Outside):
    (person.vault / NOTE).chmod(0o444)

    done = person.run("add-fact", "alice", "uses", "vim", *AHEAD, "--json")

    assert (done.code, done.json["outcome"], len(done.json["pending"])) == (75, "pending", 1)


def test_a_missing_argument_is_an_error_without_a_terminal(person: Outside):
    done = person.bare("--vault", str(person.vault), "add-fact", "alice", "likes", "--json")

    assert (done.code, done.error["message"]) == (2, "the object of the fact is missing")


def test_a_missing_argument_is_asked_for_on_a_terminal(person: Outside):
    ours, theirs = pty.openpty()
    command = person.command("add-fact", "alice", "--json", *AHEAD)
    process = subprocess.Popen(
        command,
        env=person.environment,
        cwd=person.home,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    os.write(ours, b"likes\ncake\n")
    out, err = process.communicate(timeout=120)
    os.close(ours)

    assert json.loads(out)["outcome"] == "added", err
    assert text(person).endswith("- likes: cake\n") or "- likes: cake\n" in text(person)


def test_doctor_lists_lines_that_are_not_facts(person: Outside):
    assert not [check for check in person.ok("doctor")["checks"] if check["name"] == "facts"]
    person.write(NOTE, PAGE + "\n- she may move\n")

    [check] = [check for check in person.ok("doctor")["checks"] if check["name"] == "facts"]

    assert check["state"] == "warn"
    assert "she may move" in check["reason"]
    assert text(person).endswith("- she may move\n")


def test_an_edit_by_hand_changes_the_facts_while_a_daemon_runs(outside: Outside):
    page: Path = outside.write(NOTE, PAGE)
    with outside.daemon():
        outside.quick = True
        assert [one["object"] for one in facts(outside, "--entity", "alice")] == ["Initech", "tea"]

        page.write_text(
            PAGE.replace("- likes: tea", "- ~~likes: tea~~").replace("Initech", "Globex")
        )

        until(lambda: outside.finds("Globex"))
        assert [one["object"] for one in facts(outside, "--entity", "alice")] == ["Globex"]
        outside.ok("add-fact", "alice", "likes", "cake", *AHEAD)
        assert "~~likes: tea~~\n- likes: cake\n" in page.read_text()


def test_a_past_day_shows_the_value_valid_on_that_day(person: Outside):
    person.ok("add-fact", "ann", "lives_in", "Bergen", "--from", "2020-01-01")
    person.ok("add-fact", "ann", "lives_in", "Oslo", "--from", "2026-05-01")

    def homes_of_ann(*options: str) -> list[str]:
        listed = person.ok("facts", "--entity", "ann", *options)["facts"]
        return [one["object"] for one in listed if one["predicate"] == "lives_in"]

    assert homes_of_ann() == ["Oslo"]
    assert homes_of_ann("--now", "2025-01-01T12:00+00:00") == ["Bergen"]
    assert homes_of_ann("--on", "2025-01-01") == ["Bergen"]
    assert homes_of_ann("--on", "2026-05-01") == ["Oslo"]
    assert homes_of_ann("--on", "2019-12-31") == []


def test_weak_facts_are_listed_before_they_are_forgotten(person: Outside):
    person.ok("add-fact", "ann", "likes", "jazz", "--confidence", "0.4")
    # A turn of 23 May 2026 taught this one; a person wrote the others.
    person.ok("add-fact", "ann", "likes", "tea", "--ref", "mpiaqo00aaaaaa")
    person.ok("add-fact", "ann", "lives_in", "Oslo")

    def weak(*options: str) -> list[tuple[str, float]]:
        listed = person.ok("facts", "--entity", "ann", *options)["facts"]
        return [(entry["object"], entry["strength"]) for entry in listed]

    assert weak("--below", "0.5", "--now", "2026-05-24T12:00+00:00") == [("jazz", 0.4)]
    later = weak("--below", "0.5", "--now", "2028-05-23T12:00+00:00")
    assert [name for name, _ in later] == ["tea", "jazz"]
    assert weak("--below", "0") == []


def test_a_strength_beyond_one_is_refused(person: Outside):
    assert person.run("facts", "--below", "1.5").code == 2


def test_a_struck_fact_counts_only_within_its_days(person: Outside):
    page = person.vault / NOTE
    page.write_text(
        "## ann\n\n"
        "- ~~owns: a kayak~~ (2024-01-01 to 2025-01-01)\n"
        "- ~~owns: a canoe~~ (since 2024-01-01)\n"
    )

    def owned(day: str) -> list[str]:
        return [entry["object"] for entry in facts(person, "--on", day)]

    assert owned("2024-06-01") == ["a kayak"]
    assert owned("2025-06-01") == []
    assert owned("2023-06-01") == []


def test_the_group_fact_has_the_commands_of_facts_themselves():
    from vault_memory.cli.commands import facts as module

    assert module.fact.commands == {
        "list": module.facts,
        "timeline": module.timeline,
        "entity": module.entity,
        "add": module.add_fact,
        "correct": module.correct,
        "invalidate": module.invalidate,
        "delete": module.delete_fact,
        "confirm": module.confirm,
    }


def test_a_command_of_the_group_takes_the_options_of_each_place(person: Outside):
    vault = ("--vault", str(person.vault))
    added = person.bare("--json", "fact", *vault, "add", "alice", "owns", "a kayak", *AHEAD)

    answer = json.loads(added.out)
    assert (added.code, answer["outcome"]) == (0, "added")
    listed = person.bare("fact", "list", *AHEAD, "--json", *vault)
    assert answer["id"] in {fact["id"] for fact in json.loads(listed.out)["facts"]}
