"""What a host waits for at each turn: `hook` as a new process, on a vault of 1,000 notes and without a daemon."""

import json
import sys
from collections.abc import Iterator

from benchmarks.cost import median_process_cpu
from benchmarks.place import USUAL, Place, program
from benchmarks.table import Row

ROUNDS = 15
MOST = 150
PROMPT = "Which of the spare wicks are in the blue tin beside the stairs, and who trimmed the lamp at nine?"
NO_RECALL = {"VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL": "false"}


def rows(place: Place) -> Iterator[Row]:
    """Three rows, each with the bare interpreter for a floor."""
    vault = place.vault("1000-notes", 1_000)
    with place.open(vault) as memory:
        memory.index(embed=False)
        user = next(scope for scope in memory.scopes() if scope.startswith("user:")).removeprefix(
            "user:"
        )
    floor = 1000 * median_process_cpu(
        [sys.executable, "-c", "pass"], place.environment(USUAL), ROUNDS
    )
    command = [program(), "hook", "claude-code", "--vault", str(vault), "--user", user]
    for figure, event, more in (
        ("`hook` at the start of a conversation", "SessionStart", USUAL),
        ("`hook` for a prompt: recorded", "UserPromptSubmit", NO_RECALL),
        ("`hook` for a prompt: recorded, and recalled lines", "UserPromptSubmit", USUAL),
    ):
        said = place.root / f"{event}.json"
        said.write_text(
            json.dumps({"hook_event_name": event, "session_id": "bench", "prompt": PROMPT})
        )
        ours = 1000 * median_process_cpu(command, place.environment(more), ROUNDS, said)
        yield Row(
            f"{figure}, 1,000 notes",
            "–",
            f"{floor:.0f} CPU ms (`python -c pass`)",
            f"{ours:.0f} CPU ms",
            f"≤ {MOST} CPU ms",
            ours <= MOST,
        )
