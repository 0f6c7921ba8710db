"""Whoever has the token of one vault cannot stop the host, its other vaults, or their people."""

import os
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.service.many import NOTE, Vaults, token_of
from tests.service.running_host import RunningHost, running_host

ATTACKERS = 4
ASKED = 60
"""Questions about the health of the host during an attack"""
TICKS = os.sysconf("SC_CLK_TCK")
LONG_NAME = "a" * 240 + ".md"
DEEP = "/".join(["aa"] * 60)

FREEZING = {
    "stars before a letter that is missing": ["*a" * 14 + "*b"],
    "any folders": ["**/" * 400],
    "many globs": ["*a*a*a*a*b"] * 400,
}
"""What froze a host; it is refused"""
WORST = {
    "eight stars, sixteen times": ["*a*a*a*a*a*a*a*b"] * 16,
    "any folders and stars": ["**/a*/**/*a/**/*a*b"] * 16,
    "two hundred letters": ["a" * 190 + "*" + "b" * 9] * 16,
}
"""The most that a caller may ask for"""


def hostile_notes(vaults: Vaults, name: str) -> None:
    """Notes with names on which a matcher would go back."""
    folder = (vaults.path / name / NOTE).parent
    for number in range(40):
        (folder / f"{number:02}{LONG_NAME}").write_text("- The ferry waits\n")
    (folder / DEEP).mkdir(parents=True)
    (folder / DEEP / "a.md").write_text("- The ferry is deep\n")


def cpu_seconds(host: RunningHost) -> float:
    fields = Path(f"/proc/{host.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def search(host: RunningHost, name: str, paths: list[str]) -> httpx.Response:
    return host.ask(name, "/v1/search", query="ferry", paths=paths)


def mcp_search(host: RunningHost, name: str, paths: list[str]) -> httpx.Response:
    call = {"name": "memory_search", "arguments": {"query": "ferry", "paths": paths}}
    return httpx.post(
        f"{host.url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={
            "authorization": f"Bearer {token_of(name)}",
            "accept": "application/json, text/event-stream",
        },
        timeout=60,
    )


@pytest.mark.sampled
@pytest.mark.parametrize("paths", FREEZING.values(), ids=FREEZING)
def test_paths_that_froze_a_host_are_refused_at_each_door(vaults: Vaults, paths: list[str]) -> None:
    vaults.add_three()
    hostile_notes(vaults, "south")
    with running_host(vaults) as host:
        assert search(host, "south", []).status_code == 200

        assert search(host, "south", paths).status_code == 400
        answer = mcp_search(host, "south", paths)

        assert answer.status_code in (200, 400), answer.text
        assert "error" in answer.text.lower()
        assert httpx.get(f"{host.url}/healthz").json() == {"ok": True}
        assert host.stop() == 0


@pytest.mark.sampled
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the CPU is read from /proc")
@pytest.mark.parametrize("paths", WORST.values(), ids=WORST)
def test_the_worst_paths_cost_a_few_times_as_much_as_a_plain_one(
    vaults: Vaults, paths: list[str]
) -> None:
    vaults.add_three()
    hostile_notes(vaults, "south")

    def cost(of_paths: list[str]) -> float:
        before = cpu_seconds(host)
        for _ in range(40):
            assert search(host, "south", of_paths).status_code == 200
        return cpu_seconds(host) - before

    with running_host(vaults) as host:
        cost(["Users"])
        plain, hostile = cost(["Users"]), cost(paths)

    # A matcher that goes back would take longer by more than a million.
    assert hostile < 20 * max(plain, 0.1)


@pytest.mark.sampled
def test_an_attack_on_one_vault_stops_neither_the_host_nor_the_others(vaults: Vaults) -> None:
    vaults.add_three()
    hostile_notes(vaults, "south")
    statuses: Counter[int] = Counter()
    is_over = threading.Event()
    questions = [*FREEZING.values(), *WORST.values()]

    def attack(first: int) -> None:
        number = first
        while not is_over.is_set():
            number += 1
            ask = (search, mcp_search)[number % 2]
            answer = ask(host, "south", questions[number % len(questions)])
            statuses[answer.status_code] += 1

    with running_host(vaults) as host:
        threads = [threading.Thread(target=attack, args=(number,)) for number in range(ATTACKERS)]
        for thread in threads:
            thread.start()
        try:
            seconds = []
            with httpx.Client(base_url=host.url, timeout=60) as client:
                for number in range(ASKED):
                    began = time.monotonic()
                    assert client.get("/healthz").status_code == 200
                    seconds.append(time.monotonic() - began)
                    if number % 10 == 0:
                        assert host.search("north", "ferry")
                        assert host.search("west", "ferry")
                    is_over.wait(0.02)
        finally:
            is_over.set()
            for thread in threads:
                thread.join(60)
        p95 = sorted(seconds)[ASKED * 95 // 100]
        print(f"/healthz p95 {p95 * 1000:.1f} ms; answers {dict(statuses)}")
        assert set(statuses) <= {200, 400, 429, 503}
        assert host.stop() == 0
