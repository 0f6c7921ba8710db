"""Processes that edit a vault for a living, killed at random moments of it; then what is left is judged by the audit.

Run as ``python -m tests.edits.killing FOLDER KILLS SEED``; prints what became of it as JSON. Each kill is of one of
these jobs, in a process of its own: the bot's ops, taking back and taking back that, a person's decisions on the INBOX
page, the command line, a person who saves whole notes, and a daemon that folds in a write that waited.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.vault.snapshots import revision_of

NOTE, PAGE, AUDIT = "USER.md", "USER.INBOX.md", "USER.md.audit.jsonl"
FIRST = "# Me\n\n## Tea\n\n- green\n\n## Boats\n\n- Sula\n"
OURS = {NOTE, PAGE, AUDIT, ".vault-memory", ".vault-memory.lease"}
AHEAD = timedelta(hours=1)
"""So that no note counts as saved just now"""
READ_ONLY, WRITABLE = 0o444, 0o644


def now() -> datetime:
    return datetime.now(UTC) + AHEAD


class Scene:
    """One vault, and what was ever asked of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.root, self.folder = folder / "vault", folder
        self.environment = {
            "VAULT_MEMORY_STATE": str(folder / "state"),
            "VAULT_MEMORY_CACHE": str(folder / "cache"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
        }
        self.dice = random.Random(seed)
        self.faults: list[str] = []
        self.number = 0
        self.root.mkdir()
        (self.root / NOTE).write_text(FIRST)
        self.explained = 0
        with self.memory() as memory:  # which also loads what each job would otherwise load first
            memory.index()
            edit = memory.apply(
                NOTE, [{"op": "append", "heading": "Tea", "line": "first"}], now=now()
            )
            memory.undo(str(edit.audit_id), now=now())

    @contextmanager
    def memory(self) -> Iterator[VaultMemory]:
        with VaultMemory.open(self.root, environment=self.environment) as memory:
            yield memory

    def raw(self) -> bytes:
        return (self.root / NOTE).read_bytes()

    def fresh(self) -> int:
        self.number += 1
        return self.number

    def blame(self, what: str, *details: object) -> None:
        self.faults.append(f"{what}: {details}")


# ---- the jobs: each goes on until it is killed ------------------------------------------------------------------


def ops(scene: Scene, began: int) -> None:
    """The bot appends, rewrites and removes what it wrote; each line is told apart by its number."""
    with scene.memory() as memory:
        for step in range(10_000):
            name = f"bot {began}.{step}"
            heading = ("Tea", "Boats")[step % 2]
            memory.apply(NOTE, [{"op": "append", "heading": heading, "line": name}], now=now())
            if step % 3 == 1:
                memory.apply(
                    NOTE,
                    [{"op": "replace", "heading": heading, "match": name, "line": f"{name}, told"}],
                    now=now(),
                )
            if step % 3 == 2:
                memory.apply(NOTE, [{"op": "remove", "heading": heading, "match": name}], now=now())


def undoing(scene: Scene, began: int) -> None:
    with scene.memory() as memory:
        for step in range(10_000):
            edit = memory.apply(
                NOTE, [{"op": "append", "heading": "Tea", "line": f"bot {began}.{step}"}], now=now()
            )
            assert edit.audit_id is not None
            undone = memory.undo(edit.audit_id, now=now())
            assert undone.audit_id is not None
            memory.undo(undone.audit_id, now=now())


def deciding(scene: Scene, began: int) -> None:
    """What a person ticked is carried out; then the next proposals are made, and approved by their ids."""
    with scene.memory() as memory:
        memory.edits.editor.inbox.carry_out(PAGE, now())
        for step in range(10_000):
            line = f"old {began}.{step}"
            memory.apply(
                NOTE, [{"op": "append", "heading": "Boats", "line": line}], source="cli", now=now()
            )
            proposed = memory.apply(
                NOTE, [{"op": "remove", "heading": "Boats", "match": line}], now=now()
            ).proposed
            memory.approve(proposed[0].id, now=now())


def saving(scene: Scene, began: int) -> None:
    """A person saves whole notes: each text has a new line, and every third time lacks the last one."""
    with scene.memory() as memory:
        for step in range(10_000):
            base = scene.raw()
            text = base + f"- saved {began}.{step}\n".encode()
            if step % 3 == 2:
                text = b"".join(base.splitlines(keepends=True)[:-1])
            memory.edits.save(NOTE, text, base=base, now=now())


def daemon(scene: Scene, began: int) -> None:
    from vault_memory.service.daemon import Daemon

    with scene.memory() as memory:
        Daemon(memory, tell=lambda change: None).run()


def from_the_command_line(scene: Scene, began: int) -> None:
    asked = ("append", NOTE, "Tea", f"bot {began}", "--now", now().isoformat(), "--json")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    command = (sys.executable, "-m", "vault_memory", "--vault", str(scene.root), *asked)
    os.execve(sys.executable, command, os.environ | scene.environment)


JOBS = (ops, ops, undoing, deciding, daemon, from_the_command_line, saving)


# ---- one kill ---------------------------------------------------------------------------------------------------


def prepare(scene: Scene, job: Callable[..., None], began: int) -> None:
    """What must be there before the job begins."""
    if job is daemon:
        (scene.root / NOTE).chmod(READ_ONLY)
        with scene.memory() as memory:
            ops_asked = [{"op": "append", "heading": "Tea", "line": f"bot {began}"}]
            if not memory.apply(NOTE, ops_asked, now=now()).pending:
                scene.blame("a note that may not be written was written", began)
    if job is deciding:
        lines = [f"old {began}-{one}" for one in range(4)]
        with scene.memory() as memory:
            memory.apply(
                NOTE,
                [{"op": "append", "heading": "Boats", "line": line} for line in lines],
                source="cli",
                now=now(),
            )
            memory.apply(
                NOTE,
                [{"op": "remove", "heading": "Boats", "match": line} for line in lines],
                now=now(),
            )
        tick(scene)


def tick(scene: Scene) -> None:
    """A person agrees to all that stands on the page."""
    page = scene.root / PAGE
    if page.exists() and "- [ ]" in (text := page.read_text()):
        page.write_text(text.replace("- [ ]", "- [x]"))


def moment(scene: Scene, job: Callable[..., None]) -> None:
    """Wait for a random moment; of a daemon one about when it has seen that the note can be written again."""
    if job is from_the_command_line:
        time.sleep(scene.dice.uniform(0.1, 0.6))
    elif job is daemon:
        time.sleep(scene.dice.uniform(0.0, 0.4))
        (scene.root / NOTE).chmod(WRITABLE)
        before, until = (
            os.stat(scene.root / NOTE).st_ino,
            time.monotonic() + scene.dice.uniform(0.0, 6.0),
        )
        while os.stat(scene.root / NOTE).st_ino == before and time.monotonic() < until:
            time.sleep(0.0002)
        time.sleep(scene.dice.choice((0.0, 0.002, 0.01)))
    else:
        time.sleep(scene.dice.uniform(0.004, 0.15))


def kill(scene: Scene, job: Callable[..., None]) -> None:
    """Start the job, kill it, and judge what it left."""
    began = scene.fresh()
    prepare(scene, job, began)
    child = os.fork()
    if child == 0:
        try:
            job(scene, began)
        finally:
            os._exit(1)
    moment(scene, job)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and not (
        job is from_the_command_line and os.WEXITSTATUS(status) == 0
    ):
        scene.blame("it must live until it is killed", job.__name__, status)
    left = scene.raw()
    with scene.memory() as memory:
        recover(scene, memory)
        judge(scene, memory, left, job.__name__)
        undo_the_last(scene, memory)


def recover(scene: Scene, memory: VaultMemory) -> None:
    """As the next process does it: with a call of its own, or by tending; what was ticked is carried out."""
    if scene.dice.random() < 0.5:
        memory.apply(
            NOTE, [{"op": "append", "heading": "Tea", "line": f"next {scene.fresh()}"}], now=now()
        )
    until = time.monotonic() + 120
    while time.monotonic() < until:
        memory.edits.process_due(now())
        tick(scene)
        memory.edits.editor.inbox.carry_out(PAGE, now())
        writer = memory.edits.editor.writer
        busy = writer.pending() or writer.finished() or writer.displaced()
        if (
            not busy and not memory.inbox()
        ):  # a page that was only caught up with just now is still to be ticked
            return
        time.sleep(0.01)
    scene.blame("something is never done", memory.edits.waiting())


def judge(scene: Scene, memory: VaultMemory, left: bytes, job: str) -> None:
    """The audit explains every version of the note, the one at the moment of death too, and each once."""
    records = [json.loads(line) for line in (scene.root / AUDIT).read_bytes().splitlines()]
    ids = Counter(record["id"] for record in records)
    if twice := [one for one, times in ids.items() if times > 1]:
        scene.blame("recorded twice", job, twice)
    at = revision_of(FIRST.encode())
    versions = {at}
    for number, record in enumerate(records):
        if record["before"] == record["after"]:
            continue
        if record["before"] != at:
            scene.blame("a version that no record tells of", job, record["id"], record["source"])
        at = record["after"]
        versions.add(at)
        if number >= scene.explained:
            explain(scene, memory, record, job)
    scene.explained = len(records)
    if revision_of(scene.raw()) != at:
        scene.blame("the note is not what the last record left", job)
    if revision_of(left) not in versions:
        scene.blame("neither old nor new", job, left)
    if stray := set(os.listdir(scene.root)) - OURS:
        scene.blame("left behind", job, stray)
    if waiting := memory.inbox():
        scene.blame("ticked and not carried out", job, [one.id for one in waiting])
    page = (scene.root / PAGE).read_text() if (scene.root / PAGE).exists() else ""
    if "- [" in page:
        scene.blame("done or not, it is still on the page", job, page)
    held = memory.vault.indexing.index().file(NOTE)
    if held is None or held.revision != revision_of(scene.raw()):
        memory.index()
        if (
            known := memory.vault.indexing.index().file(NOTE)
        ) is None or known.revision != revision_of(scene.raw()):
            scene.blame("the index is behind", job)


def explain(scene: Scene, memory: VaultMemory, record: dict[str, object], job: str) -> None:
    """What a record says was applied is what differs between its two versions."""
    snapshots = memory.edits.editor.writer.snapshots
    texts = [snapshots.bytes_of(str(record[which])) for which in ("before", "after")]
    if texts[0] is None or texts[1] is None:
        scene.blame("a version is not kept", job, record["id"])
        return
    older, newer = (
        Counter(line for line in raw.decode().splitlines() if line)
        for raw in texts
        if raw is not None
    )
    gone, come = older - newer, newer - older
    diff = str(record["diff"]).splitlines()
    told_gone = Counter(
        line[1:]
        for line in diff
        if line.startswith("-") and not line.startswith("---") and line[1:]
    )
    told_come = Counter(
        line[1:]
        for line in diff
        if line.startswith("+") and not line.startswith("+++") and line[1:]
    )
    if (gone, come) != (told_gone - told_come, told_come - told_gone):
        scene.blame("the record tells of something else", job, record["id"])
    if not any(done["outcome"] == "applied" for done in record["applied"]):  # type: ignore[attr-defined]
        scene.blame("a change by nobody", job, record["id"])


def undo_the_last(scene: Scene, memory: VaultMemory) -> None:
    """Taken back and put back, byte for byte."""
    changes = [record for record in memory.log(NOTE) if record.before != record.after]
    if not changes:
        return
    before = scene.raw()
    undone = memory.undo(changes[-1].id, now=now())
    if undone.after != changes[-1].before:
        scene.blame("undo gives something else", changes[-1].id)
    memory.undo(str(undone.audit_id), now=now())
    if scene.raw() != before:
        scene.blame("undo of the undo gives something else", changes[-1].id)


def main(folder: Path, kills: int, seed: int) -> None:
    scene = Scene(folder, seed)
    took: Counter[str] = Counter()
    for number in range(kills):
        job = JOBS[number % len(JOBS)]
        kill(scene, job)
        took[job.__name__] += 1
        if scene.faults:
            break
    with scene.memory() as memory:
        checks = subprocess.run(
            [sys.executable, "-m", "vault_memory", "--vault", str(scene.root), "status", "--json"],
            env=os.environ | scene.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        waiting = json.loads(checks.stdout)["pending"]
        records = memory.log(NOTE)
    print(
        json.dumps(
            {"faults": scene.faults, "jobs": took, "records": len(records), "waiting": waiting}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
