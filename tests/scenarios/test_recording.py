"""What is said, from outside: commands, a daemon, many processes at once, and processes that are killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.index_dump import dump
from tests.scenarios.outside import Outside, until
from vault_memory.rules.conversations.turn import read_turns

TALKER = """
import sys
from vault_memory.api.vault_memory import VaultMemory

with VaultMemory.open(sys.argv[1]) as memory:
    for number in range(int(sys.argv[4])):
        recorded = memory.record_turn(
            session=sys.argv[2], role="user", user=sys.argv[3], channel="kitchen", text=f"{sys.argv[2]} says {number}"
        )
        print(recorded.id, flush=True)
"""


def talk(outside: Outside, session: str, user: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", TALKER, str(outside.vault), session, user, str(count)]
    return subprocess.Popen(command, env=outside.environment, stdout=subprocess.PIPE, text=True)


def turns(outside: Outside, folder: str = "Channels/kitchen") -> list[str]:
    paths = sorted((outside.vault / folder / "transcripts").glob("*.jsonl"))
    return [turn.id for path in paths for turn in read_turns(path.read_bytes())]


def test_record_and_end_session_have_the_keys_of_the_contract(outside):
    outside.write("MEMORY.md", "- one\n")
    outside.ok("index")

    said = outside.ok(
        "record",
        "--session",
        "s1",
        "--role",
        "user",
        "--user",
        "mira",
        "The heron nests by the boathouse",
    )
    answered = outside.ok(
        "record", "--session", "s1", "--role", "assistant", "Noted!", "--source", "voice"
    )
    hidden = outside.ok(
        "record",
        "--session",
        "s2",
        "--role",
        "user",
        "--user",
        "mira",
        "--mode",
        "incognito",
        "psst",
    )
    ended = outside.ok("end-session", "s1")

    assert set(said) == set(answered) == {"id", "note"}
    assert said["note"].startswith("Users/mira/transcripts/")
    assert hidden == {"id": None, "note": None}
    assert ended == {"committed": [], "held": [], "dropped": [], "waiting": []}
    assert outside.ok("end-session", "s1") == ended
    [hit, *_] = outside.search("heron", "--user", "mira")["hits"]
    assert (hit["note"], hit["kind"], hit["lines"]) == (said["note"], "transcript", [1, 1])
    assert outside.search("heron", "--user", "tomas")["hits"] == []


def test_a_turn_is_read_from_standard_input(outside):
    outside.write("MEMORY.md", "- one\n")

    outside.run(
        "record",
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "mira",
        "-",
        input="two\nlines\n",
        stdin=None,
    )

    [path] = (outside.vault / "Users/mira/transcripts").iterdir()
    assert [turn.text for turn in read_turns(path.read_bytes())] == ["two\nlines\n"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--session", "s", "--role", "user", "x"),
        ("--session", "s", "--role", "king", "--user", "mira", "x"),
        ("--session", "s", "--role", "user", "--user", "../mira", "x"),
        ("--session", "s", "--role", "user", "--user", "mira", "--mode", "loud", "x"),
        ("--role", "user", "--user", "mira", "x"),
    ],
)
def test_an_invalid_call_is_a_usage_error_and_records_nothing(outside, wrong):
    outside.quick = True
    outside.write("MEMORY.md", "- one\n")

    done = outside.run("record", *wrong, "--json")

    assert done.code == 2
    assert done.error["message"]
    assert list(outside.vault.rglob("*.jsonl")) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("processes", "each"), [(5, 40), pytest.param(10, 100, marks=pytest.mark.deep)]
)
def test_concurrent_processes_lose_and_mix_no_turns(outside, processes, each):
    outside.write("MEMORY.md", "- one\n")
    outside.ok("index")

    talking = [
        talk(outside, f"session-{number}", f"person-{number % 3}", each)
        for number in range(processes)
    ]
    said = [process.communicate(timeout=240)[0].split() for process in talking]

    assert [process.returncode for process in talking] == [0] * processes
    found = turns(outside)
    assert sorted(found) == sorted(id_ for ids in said for id_ in ids)
    assert len(found) == processes * each
    for ids in said:
        assert [id_ for id_ in found if id_ in set(ids)] == ids
    for path in (outside.vault / "Channels/kitchen/transcripts").iterdir():
        assert all(json.loads(line) for line in path.read_bytes().splitlines())
    outside.ok("index")
    kept = dump(outside.state)
    outside.ok("index", "--rebuild")
    assert dump(outside.state) == kept


@pytest.mark.sampled
@pytest.mark.parametrize("after", [1, 23])
def test_turns_acknowledged_before_a_kill_survive_and_recording_continues(outside, after):
    outside.write("MEMORY.md", "- one\n")
    outside.ok("index")
    talking = talk(outside, "doomed", "mira", 10_000)
    assert talking.stdout is not None
    acknowledged = [talking.stdout.readline().strip() for _ in range(after)]
    talking.kill()
    acknowledged += talking.communicate()[0].split("\n")[:-1]

    outside.ok(
        "record", "--session", "doomed", "--role", "user", "--channel", "kitchen", "I am back"
    )

    found = turns(outside)
    assert [id_ for id_ in acknowledged if id_] == found[
        : len([id_ for id_ in acknowledged if id_])
    ]
    assert len(found) - len(acknowledged) in (1, 2)
    assert outside.finds("I am back", "--channel", "kitchen")
    assert outside.finds("doomed says 0", "--user", "mira")


def test_the_daemon_records_a_dropped_turn(outside):
    outside.write("MEMORY.md", "- one\n")
    with outside.daemon():
        drop = Path(outside.ok("status")["drop_folder"])
        assert oct(drop.stat().st_mode & 0o777) == "0o700"
        said = {
            "session": "m",
            "role": "user",
            "user": "mira",
            "source": "email",
            "text": "the walrus parcel came",
        }
        with (drop / "mail.jsonl").open("a") as file:
            file.write(json.dumps(said) + "\n")

        until(lambda: turns(outside, "Users/mira"), pause=0.02)
        until(lambda: outside.finds("walrus parcel", "--user", "mira"))

        assert turns(outside, "Users/mira")
        outside.ok("record", "--session", "m", "--role", "assistant", "Shall I fetch the walrus?")
        until(lambda: outside.finds("fetch", "--user", "mira"))
        ended = outside.ok("end-session", "m")
        assert set(ended) == {"committed", "held", "dropped", "waiting"}
    assert not any(path.name.endswith((".taken", ".jsonl")) for path in drop.iterdir())


def test_turns_dropped_by_ten_programs_are_all_recorded_by_two_consecutive_daemons(outside):
    outside.write("MEMORY.md", "- one\n")
    drop = Path(outside.ok("status")["drop_folder"])
    shell = 'i=0; while [ $i -lt 40 ]; do printf "%s\\n" "$1" >> "$2"; i=$((i+1)); done'

    def program(number: int) -> "subprocess.Popen[bytes]":
        said = {
            "session": f"p{number}",
            "role": "user",
            "channel": "kitchen",
            "user": "mira",
            "source": "cli",
            "text": "x",
        }
        return subprocess.Popen(
            ["sh", "-c", shell, "sh", json.dumps(said), str(drop / f"{number % 4}.jsonl")]
        )

    programs = [program(number) for number in range(10)]
    with outside.daemon() as first:
        until(lambda: turns(outside))
        first.kill()
    for process in programs:
        assert process.wait(120) == 0
    with outside.daemon():
        until(lambda: len(turns(outside)) >= 400, says=lambda: len(turns(outside)))
        # A file goes after its last turn was recorded.
        until(lambda: os.listdir(drop) == [".lock"], says=lambda: os.listdir(drop))
        left = os.listdir(drop)

    lines = [
        line
        for path in (outside.vault / "Channels/kitchen/transcripts").iterdir()
        for line in path.read_bytes().splitlines()
    ]
    assert len(turns(outside)) == len(lines) == 400
    assert left == [".lock"]
