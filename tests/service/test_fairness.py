"""A vault with a lot of work delays the searches of the others only a little."""

import time

import pytest

from tests.effort import FULL
from tests.service.many import NOTE, Vaults, token_of
from tests.service.running_host import RunningHost, running_host, until

NOTES = 10_000 if FULL else 800
NEW_VAULTS = 6
NEW_NOTES = 1_500 if FULL else 400
SEARCHES = 100
LONGEST_SECONDS = 1.0
"""More than a quiet search; the limit is 50 ms on a machine with nothing else to do"""
SHARE = 10
"""How many times as long as before a search may take: what else the machine does slows both"""


def durations(host: RunningHost, name: str, count: int = SEARCHES) -> list[float]:
    """How long different searches of a vault take, sorted."""
    client = host.client(token_of(name))
    seconds = []
    for number in range(count):
        began = time.monotonic()
        answer = client.post("/v1/search", json={"query": f"ferry {number}"})
        seconds.append(time.monotonic() - began)
        assert answer.status_code == 200, answer.text
        assert answer.json()["hits"]
    return sorted(seconds)


@pytest.mark.sampled
def test_a_vault_that_gets_many_notes_delays_no_other(vaults: Vaults) -> None:
    vaults.add_three()
    folder = (vaults.path / "south" / NOTE).parent
    with running_host(vaults) as host:
        host.search("south", "ferry")
        quiet = durations(host, "north")
        for number in range(NOTES):
            text = f"# Note {number}\n\n- The barge {number} carries grain\n"
            (folder / f"barge{number}.md").write_text(text)
        busy = durations(host, "north")
        print(f"quiet {quiet[-2]:.3f} s, busy {busy[-2]:.3f} s")
        assert busy[-2] < SHARE * quiet[-2] + LONGEST_SECONDS
        assert until(lambda: bool(host.search("south", f"barge {NOTES - 1}")))


@pytest.mark.sampled
def test_a_hostile_note_delays_no_other_vault(vaults: Vaults) -> None:
    vaults.add_three()
    hostile = (vaults.path / "south" / NOTE).with_name("hostile.md")
    with running_host(vaults) as host:
        host.search("south", "ferry")
        quiet = durations(host, "north")
        hostile.write_text("- " + "[[" * 400_000 + "\n" + "> " * 100_000 + "x\n")
        busy = durations(host, "north")
        print(f"quiet {quiet[-2]:.3f} s, busy {busy[-2]:.3f} s")
        assert busy[-2] < SHARE * quiet[-2] + LONGEST_SECONDS


@pytest.mark.sampled
def test_the_first_scans_of_some_new_vaults_leave_threads_for_the_others(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        host.search("south", "ferry")
        quiet = durations(host, "north")
        for vault in range(NEW_VAULTS):
            folder = (vaults.add(f"new{vault}") / NOTE).parent
            for number in range(NEW_NOTES):
                text = f"# Note {number}\n\n- The barge {number} carries grain\n"
                (folder / f"barge{number}.md").write_text(text)
        busy = durations(host, "north", 3 * SEARCHES)
        print(f"quiet {quiet[-2]:.3f} s, busy {busy[-2]:.3f} s")
        assert busy[-2] < SHARE * quiet[-2] + LONGEST_SECONDS
