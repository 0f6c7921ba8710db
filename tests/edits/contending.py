"""A person and a bot who change one note as fast as they can, each in a process of its own.

Run as ``python -m tests.edits.contending person|bot VAULT COUNT SEED``. The person loads what stands there, adds a
line at its end, and saves, in one way or another; the bot adds an item by an op, and says as JSON what it was told.
"""

import json
import os
import random
import sys
import time
from pathlib import Path

from tests.vault.write.people import backed_up, by_rename, in_place
from vault_memory.api.vault_memory import VaultMemory

NOTE = "USER.md"
FIRST = "# Me\n\n## Tea\n\n- green\n\n## Boats\n\n- Sula\n"
WAYS = (by_rename, in_place, backed_up)
BURST, REST_SECONDS = 20, 0.5
"""After so many saves the person thinks for a while, which is when waiting writes get their turn"""


def person(vault: Path, count: int, seed: int) -> None:
    dice = random.Random(seed)
    for number in range(count):
        dice.choice(WAYS)(vault / NOTE, f"- person {number}\n".encode())
        time.sleep(
            REST_SECONDS if number % BURST == BURST - 1 else dice.choice((0, 0.002, 0.01, 0.04))
        )


def bot(vault: Path, count: int, seed: int) -> None:
    dice = random.Random(seed)
    told: dict[str, int] = {"at once": 0, "later": 0}
    refused: list[str] = []
    with VaultMemory.open(vault, environment=os.environ) as memory:
        for number in range(count):
            heading = dice.choice(("Tea", "Tea", "Boats"))
            edit = memory.apply(
                NOTE, [{"op": "append", "heading": heading, "line": f"bot {number}"}]
            )
            refused += [f"{number}: {one.reason}" for one in edit.rejected]
            refused += [f"{number}: {one.op}" for one in edit.proposed]
            told["later" if edit.pending else "at once"] += 1
    print(json.dumps({**told, "refused": refused}))


if __name__ == "__main__":
    {"person": person, "bot": bot}[sys.argv[1]](
        Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    )
