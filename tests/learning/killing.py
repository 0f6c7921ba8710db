"""A night that is killed again and again, each time from the same evening, then done again and compared.

Run as ``python -m tests.learning.killing FOLDER KILLS SEED SCOPE...``; prints the result as JSON. The clock and the
model's answers are fixed. So the files after a killed night must be, byte for byte, those after an undisturbed one. The
night is killed after steps of each SCOPE (all, or every fourth in a short run), and then at random moments.
"""

import difflib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.conftest import PROJECT
from tests.effort import some
from tests.models.scripted import Asked, Sent, completion, learned
from tests.models.scripted import ScriptedModel as Model
from tests.warm import load
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.learning.steps import STEPS

NOW = datetime.fromisoformat("2026-05-26T03:05:00+00:00")
EARLIER = (
    ("mira", "tea", "", "I hate myself."),
    ("mira", "tea", "", "I like coffee."),
    ("mira", "walk", "", "Remember that the boat key hangs in the shed."),
    ("mira", "rope", "", "Remember that the spare rope is in the loft."),
)
"""Turns that the night before has read"""
LATER = (
    ("mira", "day", "", "I am allergic to mackerel since I was a child."),
    ("mira", "day", "", "I moved to Ostervik last week."),
    ("mira", "day", "", "From now on, give me the wind in Beaufort."),
    ("mira", "day", "", "My sister Anneke works at the harbour."),
    ("mira", "day", "", "I hate myself."),
    ("mira", "day", "", "I am a failure."),
    ("mira", "day", "", "I want to kill myself."),
    ("mira", "day", "", "My password is swordfish."),
    ("mira", "day", "", "Remember that the spare rope is in the loft."),
    ("mira", "day", "", "I don't like coffee."),
    ("mira", "day", "", "Which hotel near the harbour of Ostervik takes dogs in July?"),
    ("mira", "day", "", "I love plum jam."),
    ("mira", "day", "", "Scratch that."),
    ("mira", "walk", "", "Scratch that."),
    ("tomas", "bell", "", "I love sour cherries since that summer."),
    ("tomas", "fog", "fogbell", "The bell weighs ninety kilos."),
    ("mira", "fog", "fogbell", "Greta rings in the fog."),
    ("mira", "fog", "fogbell", "We decided to ring twice."),
    ("mira", "fog", "fogbell", "Tomas will send the draft by Friday."),
    ("mira", "fog", "fogbell", "I am allergic to wool."),
)
"""Turns that the night reads: a drop, a held candidate, a promotion, a twin, withdrawals, a channel's task"""
LEASE = ".vault-memory.lease"


def answers(asked: Asked) -> Sent:
    """Gives the same answer to the same question, for each question of a night."""
    if "You keep the note" in asked.system:
        ops = [
            {"op": "append", "heading": "Preferences", "line": "Eats no fish"},
            {"op": "remove", "heading": "The house", "match": "The pump"},
        ]
        answer: dict[str, Any] = {"ops": ops}
    elif "You look back" in asked.system:
        line = "She moved, and is careful with fish"
        answer = {"ops": [{"op": "append", "heading": "The week", "line": line}]}
    elif asked.wants == "facts":
        answer = {"facts": [fact(*turn) for turn in asked.turns]}
    else:
        answer = learned(asked)
        invented = {"turn": "", "text": "Nobody said this", "type": "context"}
        answer["memories"].append(invented)
    return Sent(200, completion(json.dumps(answer)))


def fact(turn_id: str, user: str, text: str) -> dict[str, str]:
    return {
        "turn": turn_id,
        "subject": user,
        "predicate": "said",
        "object": text.rstrip("."),
        "from": "2026-05-25",
        "until": "",
    }


def record(memory: VaultMemory, turns: Sequence[tuple[str, ...]], day: datetime) -> None:
    for number, (user, session, channel, text) in enumerate(turns):
        memory.record_turn(
            session=session,
            role="user",
            text=text,
            user=user,
            channel=channel or None,
            now=day.replace(hour=12, minute=number),
        )


class Evening:
    """A vault before its night, kept aside; each night begins from it."""

    def __init__(self, folder: Path, url: str, seed: int) -> None:
        self.live, self.kept, self.dice = (folder / "live", folder / "kept", random.Random(seed))
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
        with VaultMemory.open(self.live / "vault", environment=self.environment) as memory:
            record(memory, EARLIER, NOW.replace(day=24))
            memory.sleep(now=NOW.replace(day=25), due=True)
            record(memory, LATER, NOW.replace(day=25))
            memory.index()
        shutil.copytree(self.live, self.kept)

    def begin(self) -> None:
        shutil.rmtree(self.live)
        shutil.copytree(self.kept, self.live)

    def files(self) -> dict[str, bytes]:
        vault = self.live / "vault"
        found = (path for path in sorted(vault.rglob("*")) if path.is_file() and path.name != LEASE)
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
                with VaultMemory.open(self.live / "vault", environment=self.environment) as memory:
                    memory.sleep(
                        now=NOW,
                        due=True,
                        after=lambda *done: (
                            os.kill(os.getpid(), signal.SIGKILL) if done == step else None
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
        name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)
    )


def described(name: str, found: dict[str, bytes], wanted: dict[str, bytes]) -> str:
    """The lines in which a file differs: `-` are missing, `+` are too many."""
    texts = [files.get(name, b"").decode().splitlines() for files in (wanted, found)]
    lines = difflib.unified_diff(*texts, lineterm="", n=0)
    return "\n".join([name, *list(lines)[2:]])


def main(folder: Path, kills: int, seed: int, scopes: Sequence[str]) -> None:
    load()
    with Model(answers) as model:
        evening = Evening(folder, model.url, seed)
        began = time.monotonic()
        evening.night()
        lasts = time.monotonic() - began
        wanted = evening.files()
        evening.night()
        faults = [
            f"a second night changed {described(name, evening.files(), wanted)}"
            for name in differences(evening.files(), wanted)
        ]
        told: dict[str, Any] = {"notes": len(wanted), "seconds": lasts, "killed": 0, "ended": 0}

        def judge(about: object, ended: bool) -> None:
            told["ended" if ended else "killed"] += 1
            evening.night()
            files = evening.files()
            faults.extend(
                f"{about}: {described(name, files, wanted)}" for name in differences(files, wanted)
            )

        steps = [(scope, step.__name__) for scope in scopes for step in some(STEPS)]
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
    texts = {name: raw.decode() for name, raw in wanted.items()}
    print(json.dumps(told | {"faults": faults, "texts": texts}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
