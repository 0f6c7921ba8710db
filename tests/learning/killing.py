"""A night that is killed, again and again, each time from the same evening; then it is done again, and compared.

Run as ``python -m tests.learning.killing FOLDER KILLS SEED``; prints what became of it as JSON. The clock and what the
model answers are fixed, so that the files after a night that was killed have to be, byte for byte, those after one that
was left in peace. It is killed after each step, and then at random moments.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.conftest import PROJECT
from tests.models.scripted import Asked, Sent, completion, learned
from tests.models.scripted import ScriptedModel as Model
from tests.warm import load
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.learning.steps import STEPS

NOW = datetime.fromisoformat("2026-05-26T03:05:00+00:00")
SAID = (
    ("mira", "", "I am allergic to mackerel since I was a child."),
    ("mira", "", "I moved to Ostervik last week."),
    ("mira", "", "From now on, give me the wind in Beaufort."),
    ("mira", "", "My sister Anneke works at the harbour."),
    ("mira", "", "I hate myself."),
    ("mira", "", "Remember that the spare rope is in the loft."),
    ("mira", "", "Which hotel near the harbour of Ostervik takes dogs in July?"),
    ("tomas", "", "I love sour cherries since that summer."),
    ("tomas", "fogbell", "The bell weighs ninety kilos."),
    ("mira", "fogbell", "Greta rings in the fog."),
)
LEASE = ".vault-memory.lease"


def answers(asked: Asked) -> Sent:
    """The same to the same, for each of the questions of a night."""
    said: dict[str, Any] = {"memories": [], "facts": [], "topics": {}, "ops": []}
    if "You keep the note" in asked.system:
        said["ops"] = [
            {"op": "append", "heading": "Preferences", "line": "Eats no fish"},
            {"op": "remove", "heading": "The house", "match": "The pump"},
        ]
    elif "You look back" in asked.system:
        said["ops"] = [
            {
                "op": "append",
                "heading": "The week",
                "line": "She moved, and is careful with fish",
            }
        ]
    else:
        said = learned(asked)
        said["facts"] = [
            {
                "subject": who,
                "predicate": "said",
                "object": text.rstrip("."),
                "from": "2026-05-25",
                "until": "",
            }
            | {"evidence": [id_]}
            for id_, who, text in asked.turns
        ]
        said["memories"].append(
            {
                "text": "Nobody said this",
                "type": "context",
                "topic": "meta",
                "evidence": [],
            }
        )
    return Sent(200, completion(json.dumps(said)))


class Evening:
    """A vault before its night, kept aside; each night begins from it."""

    def __init__(self, folder: Path, url: str, seed: int) -> None:
        self.live, self.kept, self.dice = (
            folder / "live",
            folder / "kept",
            random.Random(seed),
        )
        self.environment = {
            "VAULT_MEMORY_STATE": str(self.live / "state"),
            "VAULT_MEMORY_CACHE": str(folder / "cache"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
            "VAULT_MEMORY_BRAIN_KIND": "openai",
            "VAULT_MEMORY_BRAIN_MODE": "full",
            "VAULT_MEMORY_BRAIN_BASE_URL": url,
            "VAULT_MEMORY_BRAIN_MODEL": "small",
            "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
            "VAULT_MEMORY_SLEEP_CYCLE_CURATE_USER_MEMORY": "true",
            "VAULT_MEMORY_SLEEP_CYCLE_MEMORY_RETENTION_DAYS": "20",
            "VAULT_MEMORY_RETENTION_TRANSCRIPT_DAYS": "30",
        }
        others = shutil.ignore_patterns("tomas", "harbour", "2026-04-*")
        shutil.copytree(PROJECT / "sample_vault", self.live / "vault", ignore=others)
        with VaultMemory.open(
            self.live / "vault", environment=self.environment
        ) as memory:
            for number, (user, channel, text) in enumerate(SAID):
                memory.record_turn(
                    session=f"{user} {channel}",
                    role="user",
                    text=text,
                    user=user,
                    channel=channel or None,
                    now=NOW.replace(day=25, hour=12, minute=number),
                )
            memory.index()
        shutil.copytree(self.live, self.kept)

    def begin(self) -> None:
        shutil.rmtree(self.live)
        shutil.copytree(self.kept, self.live)

    def files(self) -> dict[str, bytes]:
        vault = self.live / "vault"
        found = (
            path
            for path in sorted(vault.rglob("*"))
            if path.is_file() and path.name != LEASE
        )
        return {str(path.relative_to(vault)): path.read_bytes() for path in found}

    def night(
        self,
        moment: Callable[[int], None] = lambda child: None,
        step: tuple[str, str] | None = None,
    ) -> bool:
        """In a process of its own, which is killed after a step, or by `moment`; whether it came to its end."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with VaultMemory.open(
                    self.live / "vault", environment=self.environment
                ) as memory:
                    memory.sleep(
                        now=NOW,
                        due=True,
                        after=lambda *done: (
                            os.kill(os.getpid(), signal.SIGKILL)
                            if done == step
                            else None
                        ),
                    )
                code = 0
            finally:
                os._exit(code)
        moment(child)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
            raise SystemExit(f"the night failed: {status}")
        return not os.WIFSIGNALED(status)


def differences(found: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    return sorted(
        name
        for name in found.keys() | wanted.keys()
        if found.get(name) != wanted.get(name)
    )


def main(folder: Path, kills: int, seed: int) -> None:
    load()
    with Model(answers) as model:
        evening = Evening(folder, model.url, seed)
        began = time.monotonic()
        evening.night()
        lasts = time.monotonic() - began
        wanted = evening.files()
        evening.night()
        faults = [
            f"a second night changed {name}"
            for name in differences(evening.files(), wanted)
        ]
        told: dict[str, Any] = {
            "notes": len(wanted),
            "seconds": lasts,
            "killed": 0,
            "ended": 0,
        }

        def judge(about: object, ended: bool) -> None:
            told["ended" if ended else "killed"] += 1
            evening.night()
            faults.extend(
                f"{about}: {name}" for name in differences(evening.files(), wanted)
            )

        steps = [("user:mira", step.__name__) for step in STEPS]
        for step in steps:
            evening.begin()
            judge(step, evening.night(step=step))
        told["steps"] = len(steps)
        for number in range(kills):
            evening.begin()
            after = evening.dice.uniform(0, lasts)

            def kill(child: int, after: float = after) -> None:
                time.sleep(after)
                os.kill(child, signal.SIGKILL)

            judge(f"kill {number} after {after:.3f} s", evening.night(kill))
    print(json.dumps(told | {"faults": faults, "learned": sorted(wanted)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
