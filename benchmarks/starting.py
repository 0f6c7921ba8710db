"""A new process: `search`, `--help`, `mcp` up to its list of tools; `hook` and `append` with and without a daemon;
and the first start of `run` on a vault.
"""

import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import vaults
from benchmarks.cost import median_process_cpu, process_cpu, resident_bytes
from benchmarks.daemons import running
from benchmarks.place import OFF, USUAL, Place, program
from benchmarks.table import Row

ROUNDS = 15
ROUNDS_OF_HOSTS = 21
START, PROMPT, APPEND = ("`hook` at the start of a conversation", "`hook` for a prompt", "`append`")
MOST_ALONE = {START: 80, PROMPT: 80, APPEND: 150}
MOST_BESIDE = 40
"""CPU ms"""
LIST = "memory/list.md"
FIRST_NOTES = 50_000
MOST_FIRST_SECONDS = 15
MOST_FIRST_MEMORY = 1.3
"""As a share of the memory after a later start"""
MOST_OF_HOOK = 1.3
"""The start of `mcp`, as a share of a `hook` in the same run: hosts wait for both"""


def rows(place: Place) -> Iterator[Row]:
    """Each with the bare interpreter for a floor."""
    environment = place.environment(USUAL)
    vault = place.vault("1000-notes", 1_000)
    with place.open(vault) as memory:
        memory.index(embed=False)
    text = next(vault.rglob("*.md")).read_text("utf-8")
    (question,) = vaults.questions([text], 1)
    interpreter = median_process_cpu([sys.executable, "-c", "pass"], environment, ROUNDS)
    search = [program(), "search", question, "--vault", str(vault)]
    for figure, command, peer, most in (
        ("`search` as a new process, 1,000 notes", search, 207, 150),
        ("`--help`", [program(), "--help"], 180, 80),
    ):
        ours = 1000 * median_process_cpu(command, environment, ROUNDS)
        floor = f"{1000 * interpreter:.0f} CPU ms (`python -c pass`)"
        yield Row(
            figure, f"{peer} CPU ms", floor, f"{ours:.0f} CPU ms", f"≤ {most} CPU ms", ours <= most
        )
    yield from _host_rows(place, vault, 1000 * interpreter)
    yield from _first_start(place)


def _first_start(place: Place) -> Iterator[Row]:
    """What a daemon does on an indexed vault on which none ran before, until nothing is left to do."""
    vault = place.vault("first-start", FIRST_NOTES)
    with place.open(vault) as memory:
        memory.index(embed=False)
    seconds, megabytes = [], []
    for _ in range(2):
        with running(place, vault, OFF) as daemon:
            seconds.append(daemon.wait_until_calm())
            megabytes.append(resident_bytes(daemon.pid) / 1e6)
    figure = f"first start of `run`, {FIRST_NOTES:,} indexed notes"
    yield Row(
        f"{figure}, until it is at rest",
        "–",
        f"{seconds[1]:.1f} CPU s (a later start)",
        f"{seconds[0]:.1f} CPU s",
        f"≤ {MOST_FIRST_SECONDS} CPU s",
        seconds[0] <= MOST_FIRST_SECONDS,
    )
    most = MOST_FIRST_MEMORY * megabytes[1]
    yield Row(
        f"{figure}, memory after it",
        "–",
        f"{megabytes[1]:.0f} MB (a later start)",
        f"{megabytes[0]:.0f} MB",
        f"≤ {most:.0f} MB ({MOST_FIRST_MEMORY} × that)",
        megabytes[0] <= most,
    )


def _host_rows(place: Place, vault: Path, interpreter: float) -> Iterator[Row]:
    """What a host and a bot wait for at each turn, with and without a daemon."""
    with place.open(vault) as memory:
        user = next(scope for scope in memory.scopes() if scope.startswith("user:")).removeprefix(
            "user:"
        )
    vault.joinpath("memory").mkdir(exist_ok=True)
    vault.joinpath(LIST).write_text("# List\n\n## Items\n\n- the first\n")
    meant = ["--vault", str(vault), "--user", user]
    alone = _costs(place, vault, meant)
    yield _mcp(place, meant, interpreter, alone[START])
    with running(place, vault, OFF):
        beside = _costs(place, vault, meant)
    for name, cost in alone.items():
        yield _row(f"{name}, without a daemon", cost, interpreter, MOST_ALONE[name])
    for name, cost in beside.items():
        yield _row(f"{name}, beside a daemon", cost, interpreter, MOST_BESIDE)


def _costs(place: Place, vault: Path, meant: list[str]) -> dict[str, float]:
    """CPU milliseconds of each command."""
    environment = place.environment(OFF)
    event = place.root / "event.json"
    costs = {}
    for name, event_name in ((START, "SessionStart"), (PROMPT, "UserPromptSubmit")):
        said = {
            "hook_event_name": event_name,
            "session_id": "bench",
            "prompt": "Who trimmed the lamp at nine?",
        }
        event.write_text(json.dumps(said))
        hook = [program(), "hook", "claude-code", *meant]
        costs[name] = 1000 * median_process_cpu(hook, environment, ROUNDS_OF_HOSTS, event)
    append = [program(), "append", LIST, "Items", "--vault", str(vault), "--json"]
    costs[APPEND] = 1000 * statistics.median(
        process_cpu([*append, f"item {os.urandom(8).hex()}"], environment)
        for _ in range(ROUNDS_OF_HOSTS)
    )
    return costs


def _row(figure: str, cost: float, interpreter: float, most: int) -> Row:
    floor = f"{interpreter:.0f} CPU ms (`python -c pass`)"
    return Row(figure, "–", floor, f"{cost:.0f} CPU ms", f"≤ {most} CPU ms", cost <= most)


def _mcp(place: Place, meant: list[str], interpreter: float, hook: float) -> Row:
    """What a host waits for before the first request of a conversation can have tools."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    requests = place.root / "requests.jsonl"
    requests.write_text(
        "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    )
    command = [program(), "mcp", *meant]
    ours = 1000 * median_process_cpu(command, place.environment(OFF), ROUNDS_OF_HOSTS, requests)
    most = MOST_OF_HOOK * hook
    return Row(
        "`mcp` until its tools are listed",
        f"{hook:.0f} CPU ms (`hook`)",
        f"{interpreter:.0f} CPU ms (`python -c pass`)",
        f"{ours:.0f} CPU ms",
        f"≤ {most:.0f} CPU ms ({MOST_OF_HOOK} × `hook`)",
        ours <= most,
    )
