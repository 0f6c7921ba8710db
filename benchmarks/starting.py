"""A new process: `search` without a daemon, `--help`, and `mcp` up to its list of tools beside `hook`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import vaults
from benchmarks.cost import median_process_cpu
from benchmarks.place import OFF, USUAL, Place, program
from benchmarks.table import Row

ROUNDS = 15
ROUNDS_OF_HOSTS = 21
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
        yield Row(figure, f"{peer} CPU ms", floor, f"{ours:.0f} CPU ms", f"≤ {most} CPU ms", ours <= most)
    yield _mcp(place, vault, 1000 * interpreter)


def _mcp(place: Place, vault: Path, interpreter: float) -> Row:
    """What a host waits for before the first request of a conversation can have tools."""
    with place.open(vault) as memory:
        user = next(scope for scope in memory.scopes() if scope.startswith("user:")).removeprefix("user:")
    meant = ["--vault", str(vault), "--user", user]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    requests, event = place.root / "requests.jsonl", place.root / "start.json"
    requests.write_text("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))
    event.write_text(json.dumps({"hook_event_name": "SessionStart", "session_id": "bench"}))
    environment = place.environment(OFF)
    hook = 1000 * median_process_cpu(
        [program(), "hook", "claude-code", *meant], environment, ROUNDS_OF_HOSTS, event
    )  # fmt: skip
    ours = 1000 * median_process_cpu([program(), "mcp", *meant], environment, ROUNDS_OF_HOSTS, requests)
    most = MOST_OF_HOOK * hook
    return Row(
        "`mcp` until its tools are listed",
        f"{hook:.0f} CPU ms (`hook`)",
        f"{interpreter:.0f} CPU ms (`python -c pass`)",
        f"{ours:.0f} CPU ms",
        f"≤ {most:.0f} CPU ms ({MOST_OF_HOOK} × `hook`)",
        ours <= most,
    )
