"""A note that ends the program while it is read is left alone after the second time; the rest of the vault works."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside, until

BIG = "memory/big.md"
WAITING = "the program ended twice while it was read"


def large_note(word: str = "") -> str:
    return "".join(f"- item {number} says something about tea {word}\n" for number in range(22_000))


def crash_guard_files(outside: Outside) -> list[Path]:
    return list(outside.state.glob("index/reading/*"))


def unfinished_reads(outside: Outside) -> int:
    """How often reading was begun and not ended; while it goes on, this time is among them."""
    with suppress(OSError, ValueError, IndexError):
        return int(json.loads(crash_guard_files(outside)[0].read_bytes())["times"])
    return 0


def kill_while_it_reads(outside: Outside, begins: int) -> None:
    """Start a command that brings the index up to date, and kill it while it takes the big note apart."""
    command = outside.command("index", "--no-embed")
    with subprocess.Popen(
        command, env=outside.environment, cwd=outside.home, stdout=subprocess.DEVNULL
    ) as process:
        until(
            lambda: process.poll() is not None or unfinished_reads(outside) == begins, pause=0.0005
        )
        assert process.poll() is None, "it ended by itself"
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.sampled
@pytest.mark.scenario("B49")
def test_a_note_that_crashes_the_program_twice_is_parked_until_changed_or_requested(
    outside: Outside,
) -> None:
    outside.quick = True
    outside.write("USER.md", "- likes sencha\n")
    outside.ok("index", "--no-embed")
    path = outside.write(BIG, large_note())
    time.sleep(0.06)  # older than one tick of the file system's clock

    for times in (1, 2):
        kill_while_it_reads(outside, times)

    report = outside.ok("status")
    assert report["index"]["parked"] == {BIG: WAITING}
    assert outside.finds("sencha")
    assert not outside.finds("says something")
    checks = [check for check in outside.ok("doctor")["checks"] if check["name"] == "parked"]
    assert [check["state"] for check in checks] == ["warn"]
    assert f"vault-memory index {BIG}" in checks[0]["fix"]

    os.utime(path)  # the same bytes
    assert outside.ok("status")["index"]["parked"] == {BIG: WAITING}

    outside.ok("index", "--no-embed", BIG)
    assert outside.ok("status")["index"]["parked"] == {}
    assert outside.finds("says something")
    assert crash_guard_files(outside) == []


@pytest.mark.sampled
@pytest.mark.scenario("B49")
def test_a_changed_parked_note_is_read_and_a_single_crash_parks_nothing(outside: Outside) -> None:
    outside.quick = True
    outside.write("USER.md", "- likes sencha\n")
    outside.ok("index", "--no-embed")
    outside.write(BIG, large_note())
    for times in (1, 2):
        kill_while_it_reads(outside, times)
    assert outside.ok("status")["index"]["parked"] == {BIG: WAITING}

    outside.write(BIG, large_note("again"))
    kill_while_it_reads(outside, 1)

    assert outside.ok("status")["index"]["parked"] == {}
    assert outside.finds("tea again")
    assert crash_guard_files(outside) == []
