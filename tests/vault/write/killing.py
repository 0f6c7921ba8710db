"""A process that writes, killed again and again at random moments, while somebody adds lines to the same note.

Run as ``python -m tests.vault.write.killing FOLDER KILLS SEED``; prints what became of it as JSON.
"""

import json
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.vault.write.lines import merge_lines
from vault_memory.vault.jsonl_log import append_record, read_records
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

NOTE, AUDIT = "USER.md", "USER.md.audit.jsonl"
FIRST = b"- first\n"


def now() -> datetime:
    return datetime.now(UTC)


def audited(root: Path) -> list[object]:
    try:
        return [record["id"] for record in read_records((root / AUDIT).read_bytes()).records]
    except FileNotFoundError:
        return []


def catch_up(writer: Writer, root: Path) -> None:
    """Bring the audit in line with what was done, each op once."""
    known = set(audited(root))
    for op in writer.finished():
        if op.op_id not in known:
            append_record(root, AUDIT, {"id": op.op_id, "after": op.after})
        writer.acknowledge([op.op_id])


def work(root: Path, state: Path) -> None:
    """Write, audit, write, for ever."""
    writer = Writer.open(root, state, merge_lines)
    writer.tend(now())
    catch_up(writer, root)
    number = len(audited(root)) + len(writer.pending())
    while True:
        raw = (root / NOTE).read_bytes()
        number += 1
        new = Replacement(
            NOTE,
            raw + f"- bot {number}\n".encode(),
            expected=revision_of(raw),
            op_id=f"op-{number}",
            quiet=0.0,
            record=b"{}",
        )
        writer.write(new, now=now())
        writer.tend(now())
        catch_up(writer, root)


def kill_once(root: Path, state: Path, moment: float, line: bytes) -> None:
    child = os.fork()
    if child == 0:
        try:
            work(root, state)
        finally:
            os._exit(1)
    time.sleep(moment / 2)
    with open(root / NOTE, "ab", buffering=0) as note:
        note.write(line)
    time.sleep(moment / 2)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "it must live until it is killed"


def whole(raw: bytes) -> bool:
    """Whether a note is one of the texts that somebody meant: the first line, then whole lines, none twice."""
    lines = raw.splitlines()
    return raw.startswith(FIRST) and raw.endswith(b"\n") and len(set(lines)) == len(lines)


def main(folder: Path, kills: int, seed: int) -> None:
    root, state = folder / "vault", folder / "state"
    root.mkdir()
    (root / NOTE).write_bytes(FIRST)
    moments = random.Random(seed)
    torn = 0
    for number in range(kills):
        kill_once(root, state, moments.uniform(0.004, 0.15), f"- person {number}\n".encode())
        torn += not whole((root / NOTE).read_bytes())
    writer = Writer.open(root, state, merge_lines)
    for _ in range(50):
        writer.tend(now())
        catch_up(writer, root)
        if not writer.displaced() and not writer.pending():
            break
        time.sleep(0.05)
    lines = (root / NOTE).read_text().splitlines()
    found = {
        "torn": torn,
        "missing": [number for number in range(kills) if f"- person {number}" not in lines],
        "twice": len(lines) - len(set(lines)),
        "bot": sorted(line for line in lines if "bot" in line),
        "audit": sorted(f"- bot {str(one).removeprefix('op-')}" for one in audited(root)),
        "strays": [name for name in os.listdir(root) if name not in (NOTE, AUDIT)],
        "waiting": len(writer.displaced()) + len(writer.pending()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
