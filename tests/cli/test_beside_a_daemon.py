"""Ops beside a daemon, which carries them out, and without one: the same bytes, exit codes and notes."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.outside import PROGRAM, Outside, at

NOTE = "Users/mira/wren/config/USER.md"
TEXT = "# Mira\n\n## Boats\n\n- rows the heron boat\n- owns a red oar\n- owns a blue oar\n\n## Tea\n\n- likes tea\n"
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
    ["append", NOTE, "Boats"],
    ["append", NOTE, "Boats", "x", "--source", "nobody"],
    ["append", NOTE, "Boats", "x", "--unknown", "--json"],
    ["add-heading", NOTE, "Empty"],
]


def filled(folder: Path) -> Outside:
    folder.mkdir()
    place = at(folder)
    place.write(NOTE, TEXT)
    place.quick = True
    place.ok("index", "--no-embed")
    return place


def outcome(place: Outside, command: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr, without the ids of records."""
    done = place.here(*command)
    return done.code, ID.sub("ID", done.out), ID.sub("ID", done.err)


def test_commands_say_and_do_the_same_beside_a_daemon(tmp_path: Path):
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
def test_an_answer_that_cannot_be_printed_is_told_the_same_beside_a_daemon(tmp_path: Path):
    without, beside = filled(tmp_path / "without"), filled(tmp_path / "beside")

    def told(place: Outside) -> tuple[int, bytes]:
        command = [*PROGRAM, "append", NOTE, "Boats", "sails on Sunday", "--json", "--vault", str(place.vault)]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                command, env=place.environment, cwd=place.home, stdout=full, stderr=subprocess.PIPE, timeout=120
            )
        assert b"Traceback" not in done.stderr
        return done.returncode, done.stderr

    expected = told(without)
    with beside.daemon():
        assert told(beside) == expected


def test_what_a_command_changed_is_found_when_it_returns(tmp_path: Path):
    place = filled(tmp_path / "place")
    with place.daemon() as running:
        assert outcome(place, ["append", NOTE, "Boats", "the dinghy leaks"])[0] == 0
        assert running.finds("the dinghy leaks")
