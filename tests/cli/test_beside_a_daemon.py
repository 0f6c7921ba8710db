"""Ops beside a daemon, which carries them out, and without one: the same bytes, exit codes and notes."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.outside import PROGRAM, Outside, at
from vault_memory import cli
from vault_memory.cli import quick_start

NOTE = "Users/mira/wren/config/USER.md"
TEXT = "# Mira\n\n## Boats\n\n- rows the heron boat\n- owns a red oar\n- owns a blue oar\n\n## Tea\n\n- likes tea\n"
OPS = [
    {"op": "append", "heading": "Boats", "line": "sails in June"},
    {"op": "remove", "heading": "Boats", "match": "nothing of this kind"},
    {"op": "unheard of"},
    7,
]
QUESTIONS: list[list[str]] = [
    ["search", "heron", "boat"],
    ["search", "heron boat", "--json"],
    ["search", "--json", "Who rows the heron boat?", "--user", "mira", "--limit", "1"],
    ["search", "oar", "--user", "mira", "--channel", "harbour"],
    ["search", "oar", "--user", "mira", "--channel", "harbour", "--private", "--quiet"],
    ["search", "oar", "--why"],
    ["search", "oar", "--why", "--json", "--kind", "user", "--kind=channel"],
    ["search", "oar", "--since", "2020-01-01", "--until", "20300101", "--session", "s", "--json"],
    ["search", "oar", "--topic", ""],
    ["search", "oar", "--entity", " ", "--json"],
    ["search", "oar", "--user", " "],
    ["search", "oar", "--channel", ""],
    ["search", "oar", "--since", "2031-01-01"],
    ["search", "oar", "--since", "2031-01-01", "--until", "2020-01-01"],
    ["context", "Who rows?", "--user", " "],
    ["search", "nothing of this kind"],
    ["search", "oar", "--user", "nobody", "--group", "none"],
    ["context", "Who rows?", "--user", "nobody"],
    ["search", "oar", "--since", "yesterday"],
    ["search", "oar", "--limit", "0", "--json"],
    ["search", "oar", "--limit", "many"],
    ["search", "oar", "--mode", "none"],
    ["search", "oar", "--now", "2026-01-31", "--json"],
    ["search"],
    ["search", "oar", "--unknown"],
    ["search", "--", "-oar"],
    ["search", "sails ‮ on\x1b", "--json"],
    ["context", "Who rows?", "--user", "mira"],
    [
        "context",
        "Who rows?",
        "--user",
        "mira",
        "--json",
        "--session",
        "s",
        "--confirmation",
        "the boat",
    ],
    ["context", "--user", "mira", "--channel", "harbour"],
    ["context", "--user", "mira", "--channel", "harbour", "--private", "--budget", "10"],
    ["context", "--all", "--quiet"],
    ["context", "--all", "--user", "mira"],
    ["context"],
    ["context", "--json"],
    ["context", "--purpose", "briefing", "--user", "mira"],
    ["context", "--purpose", "none", "--user", "mira"],
    ["context", "--budget", "-1", "--user", "mira", "--json"],
]
READS: dict[str, list[list[str]]] = {
    "search": [["oar"], ["--vault-of", "oar"]],
    "context": [["Who rows?", "--user", "mira"]],
    "read": [[NOTE], ["USER"], ["none.md"], [NOTE, "--revision", "0" * 64], []],
    "notes": [[], ["--user", "mira"], ["--user", "nobody", "--quiet"], ["--channel", ""]],
    "links": [[NOTE], ["Page"], ["none.md"]],
    "about": [["mira"], ["nobody", "--user", "tomas"], []],
    "facts": [[], ["--entity", "mira", "--below", "2"], ["--entity", "x"], ["--on", "2031-01-01"]],
    "timeline": [["mira"], [" "], ["x", "--channel", "harbour"]],
    "entity": [["mira"], ["x"], ["mira", "--now", "2031-01-01"], ["mira", "--now", "x"]],
    "source": [[f"{NOTE}:5"], [f"{NOTE}:5", "--around", "51"], ["none"], ["--", "none"]],
    "log": [[], [NOTE, "--limit", "1"], ["none.md"], ["--limit", "0"], ["--verbose"]],
    "history": [[NOTE], ["none.md"], ["--version"]],
    "stats": [[], ["--help"], ["--unknown"]],
}
"""Command that only reads → its arguments, one list a call"""
ID = re.compile(r"\b(?=[a-z]*\d)[0-9a-z]{6,24}\b")
REVISION = "0" * 64
COMMANDS: list[list[str]] = [
    ["append", NOTE, "Boats", "sails on Sunday"],
    ["append", NOTE, "Boats", "sails on Sunday"],
    ["append", NOTE, "Boats", "- sails on Monday", "--json"],
    ["append", "--json", NOTE, "Boats", "sails — ‮ on\x1b Tuesday"],
    ["append", NOTE, "Boats", "sails — ‮ on\x1b Wednesday"],
    ["append", NOTE, "Boats", "sails on Friday", "--dry-run"],
    ["append", NOTE, "Boats", "sails on Friday", "--dry-run", "--json"],
    ["append", NOTE, "Boats", "sails on Saturday", "--quiet"],
    ["append", NOTE, "Nowhere", "x"],
    ["append", NOTE, "Nowhere", "x", "--json"],
    ["append", "none/none.txt", "Boats", "x"],
    ["append", "../x.md", "Boats", "x", "--json"],
    ["append", NOTE, "Boats", "bound by policy", "--source", "tool", "--json"],
    ["append", NOTE, "Boats", "stale", "--expected", REVISION],
    ["append", NOTE, "Boats", "stale", f"--expected={REVISION}", "--json"],
    ["append", NOTE, "Boats", "merged", "--expected", REVISION, "--merge", "--json"],
    ["add-heading", NOTE, "Birds", "heron", "tern"],
    ["add-heading", NOTE, "Birds", "heron", "--json"],
    ["add-heading", "notes/new.md", "New", "one", "--json"],
    ["remove", NOTE, "Boats", "red oar"],
    ["remove", NOTE, "Boats", "oar that is not there", "--json"],
    ["remove", NOTE, "Boats", "rows the heron", "--source", "tool"],
    ["replace", NOTE, "Tea", "likes tea", "likes coffee", "--json"],
    ["replace", NOTE, "Boats", "sails on", "which of them"],
    ["apply", NOTE, "--ops", "ops.json", "--json"],
    ["apply", NOTE, "--ops=ops.json", "--source", "tool"],
    ["apply", NOTE, "--ops", "list.json", "--dry-run"],
    ["apply", NOTE, "--ops", "broken.json"],
    ["apply", NOTE, "--ops", "none.json", "--json"],
    ["apply", NOTE, "--json"],
    ["append", NOTE, "Boats"],
    ["append", NOTE, "Boats", "x", "--source", "nobody"],
    ["append", NOTE, "Boats", "x", "--unknown", "--json"],
    ["add-heading", NOTE, "Empty"],
]


def filled(folder: Path) -> Outside:
    folder.mkdir()
    place = at(folder)
    place.write(NOTE, TEXT)
    place.home.joinpath("ops.json").write_text(json.dumps({"ops": OPS}))
    place.home.joinpath("list.json").write_text(json.dumps(OPS[:1]))
    place.home.joinpath("broken.json").write_text("[{")
    place.quick = True
    place.ok("index", "--no-embed")
    return place


def outcome(place: Outside, command: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr, without the ids of records."""
    done = place.here(*command)
    return done.code, ID.sub("ID", done.out), ID.sub("ID", done.err)


@pytest.mark.sampled
def test_commands_print_and_do_the_same_with_a_running_daemon(tmp_path: Path):
    without, beside = filled(tmp_path / "without"), filled(tmp_path / "beside")

    expected = [outcome(without, command) for command in COMMANDS]
    with beside.daemon():
        found = [outcome(beside, command) for command in COMMANDS]

    for command, one, other in zip(COMMANDS, found, expected, strict=True):
        assert one == other, command
    assert {code for code, _, _ in found} >= {0, 1, 2, 5}
    for path in sorted(without.vault.rglob("*.md")):
        name = path.relative_to(without.vault)
        text = ID.sub("ID", (beside.vault / name).read_text(encoding="utf-8"))
        assert text == ID.sub("ID", path.read_text(encoding="utf-8")), name


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_unprintable_output_gives_the_same_error_with_a_running_daemon(tmp_path: Path):
    without, beside = filled(tmp_path / "without"), filled(tmp_path / "beside")

    def error_output(place: Outside) -> tuple[int, bytes]:
        command = [
            *PROGRAM,
            "append",
            NOTE,
            "Boats",
            "sails on Sunday",
            "--json",
            "--vault",
            str(place.vault),
        ]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                command,
                env=place.environment,
                cwd=place.home,
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=120,
            )
        assert b"Traceback" not in done.stderr
        return done.returncode, done.stderr

    expected = error_output(without)
    with beside.daemon():
        assert error_output(beside) == expected


def test_a_change_made_by_a_command_is_searchable_when_it_returns(tmp_path: Path):
    place = filled(tmp_path / "place")
    with place.daemon() as running:
        assert outcome(place, ["append", NOTE, "Boats", "the dinghy leaks"])[0] == 0
        assert running.finds("the dinghy leaks")


def test_the_quick_client_gives_the_same_answers_as_the_full_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = filled(tmp_path / "place")
    place.write("Users/tomas/wren/config/USER.md", "- sails ‮ on\x1b Sunday\n")
    place.write("Channels/harbour/CHANNEL.md", "- the oar is blue\n")
    with place.daemon():
        found = [place.here(*question) for question in QUESTIONS]
        monkeypatch.setattr(cli, "_run_without_click", lambda words: None)
        expected = [place.here(*question) for question in QUESTIONS]

    for question, one, other in zip(QUESTIONS, found, expected, strict=True):
        assert one == other, question
    assert {done.code for done in found} == {0, 2}


@pytest.mark.sampled
def test_each_command_that_reads_answers_the_same_with_a_daemon_and_without(tmp_path: Path):
    assert set(READS) == quick_start.READING
    place = filled(tmp_path / "place")
    place.write(
        "Users/tomas/wren/config/USER.md", "- sails \u202e on\x1b Sunday\n- \x85 [[Page]]\n"
    )
    place.write("Channels/harbour/CHANNEL.md", "- the oar is blue\n")
    place.write("memory/Page.md", "# Page\n\nof the [[USER]], without an end")
    place.ok("append", NOTE, "Boats", "sails — \u202e on\x1b Tuesday")
    place.ok("add-fact", "mira", "works_at", "Acme", "--user", "mira")
    calls = [
        [command, *words, *form]
        for command, variants in READS.items()
        for words in variants
        for form in ([], ["--json"])
    ]

    expected = [place.here(*call) for call in calls]
    with place.daemon():
        answers = [place.here(*call) for call in calls]

    for call, answer, other in zip(calls, answers, expected, strict=True):
        assert answer == other, call
    assert {done.code for done in answers} == {0, 1, 2}


def test_a_question_sees_what_was_saved_right_before_it(tmp_path: Path):
    place = filled(tmp_path / "place")
    with place.daemon():
        for number in range(20):
            place.write("memory/new.md", f"- the number {number}\n")
            assert f"number {number}\n" in place.here("read", "memory/new.md").out
            assert f"number {number}\n" in place.here("search", f"number {number}").out
            place.write(f"memory/new-{number}.md", "- a note\n")
            assert f"memory/new-{number}.md" in place.here("notes").out


def test_a_query_with_different_settings_is_answered_by_the_full_command(tmp_path: Path):
    place = filled(tmp_path / "place")
    place.home.joinpath("other.toml").write_text("[recall]\nenabled = true\n")
    with place.daemon():
        place.home.joinpath("broken.toml").write_text("[recall]\nmode = 7\n")

        assert place.here("search", "heron", "--config", "other.toml").code == 0
        assert place.here("search", "heron", "--config", "broken.toml").code != 0


RECORDS: list[list[str]] = [
    ["I moved to Porto", "--user", "mira", "--json"],
    ["I moved on to Lagos", "--user", "mira"],
    ["We met at the quay", "--user", "mira", "--channel", "harbour", "--quiet"],
    ["nothing", "--user", "mira", "--silent"],
    ["said by a job", "--user", "mira", "--automated", "--source", "cron"],
    ["I am here", "--user", "mira", "--role", "none"],
    ["I am here", "--user", "mira", "--mode", "incognito"],
    ["written after all", "--user", "mira"],
]


def recorded(place: Outside) -> list[dict[str, object]]:
    lines = [
        json.loads(line)
        for file in sorted(place.vault.rglob("transcripts/*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    return [
        {name: value for name, value in line.items() if name not in ("id", "ts", "device")}
        for line in lines
    ]


def test_turns_are_recorded_alike_with_and_without_a_daemon(tmp_path: Path) -> None:
    folders = tmp_path / "alone", tmp_path / "beside"
    for folder in folders:
        folder.mkdir()
    alone, beside = map(at, folders)
    common = ("--session", "s", "--role", "user")

    def run(place: Outside) -> list[tuple[int, str]]:
        done = [place.run("record", *common, *words) for words in RECORDS]
        # An id differs each time.
        return [(each.code, re.sub(r"\b[0-9a-z]{14}\b", "ID", each.out)) for each in done]

    without = run(alone)
    beside.ok("index")
    with beside.daemon():
        with_daemon = run(beside)

    assert with_daemon == without
    assert recorded(beside) == recorded(alone)
    assert [turn["text"] for turn in recorded(beside)] == [
        "We met at the quay",
        "I moved to Porto",
        "I moved on to Lagos",
        "said by a job",
        "written after all",
    ]
