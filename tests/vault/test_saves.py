"""Every way a program saves a note, watched and looked at as the daemon does: found, settled once, never gone."""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.editors import Editor, each_editor
from vault_memory.errors import NoteNotFound
from vault_memory.vault.reader import Folder
from vault_memory.vault.watch.debounce import DebounceDecision, DebounceTable, Settled
from vault_memory.vault.watch.watcher import Watcher

FIRST = b"# Boat\n\n- the Gull leaks\n- the mast is new\n"
PATIENCE = 120.0


@dataclass
class Looker:
    """The loop of a daemon without an index: it holds the last text of each note."""

    root: Path
    known: dict[str, bytes] = field(default_factory=dict)
    shown: list[tuple[str, bytes]] = field(default_factory=list)
    concluded: list[tuple[str, DebounceDecision]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = Folder(self.root)
        self.watcher = Watcher(self.root)
        self.settling = DebounceTable()
        self.watcher.start()
        self.watcher.take(PATIENCE)
        self.known = {path: self.folder.read(path).raw for path in self.folder.listing().entries}
        self.settled = dict(self.known)

    def run_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not (done() and not self.settling.due(float("inf"))):
            now = time.monotonic()
            assert now < end, (self.settling.due(float("inf")), self.concluded)
            due = self.settling.next_due()
            self._heed(min(end, due if due is not None else end) - now)
            for path in self.settling.due(time.monotonic()):
                self._look(path)

    def _heed(self, timeout: float) -> None:
        hints = self.watcher.take(max(0.0, timeout))
        now = time.monotonic()
        for path in hints.paths:
            self.settling.hint(path, now=now, closed=path in hints.closed)
        for subtree in ("",) if hints.rescan else hints.subtrees:
            found = self.folder.listing(subtree).entries
            below = {path for path in self.known if path.startswith(subtree and subtree + "/")}
            for path in found.keys() | below:
                self.settling.hint(path, now=now, closed=True)

    def _look(self, path: str) -> None:
        try:
            note = self.folder.read(path)
        except NoteNotFound:
            note = None
        old = self.settled.get(path)
        known = (
            None
            if old is None
            else Settled(hashlib.sha256(old).hexdigest(), len(old), old.startswith)
        )
        verdict = self.settling.observe(path, note, known, now=time.monotonic())
        if (
            verdict in (DebounceDecision.INDEX, DebounceDecision.SETTLED)
            and note
            and self.known.get(path) != note.raw
        ):
            self.known[path] = note.raw
            self.shown.append((path, note.raw))
        if verdict is DebounceDecision.SETTLED and note:
            self.settled[path] = note.raw
            self.concluded.append((path, verdict))
        if verdict is DebounceDecision.GONE:
            self.known.pop(path, None)
            self.settled.pop(path, None)
            self.concluded.append((path, verdict))


@pytest.fixture
def looker(tmp_path: Path) -> Iterator[Looker]:
    root = tmp_path / "vault"
    (root / "memory").mkdir(parents=True)
    (root / "memory/boat.md").write_bytes(FIRST)
    (root / "USER.md").write_bytes(b"# Ann\n")
    looker = Looker(root)
    yield looker
    looker.watcher.stop()


@pytest.mark.scenario("C23", "C24", "C25")
@pytest.mark.parametrize("editor", each_editor())
def test_a_save_is_settled_with_no_other_change_seen(looker: Looker, editor: Editor):
    wanted = FIRST + b"- Bob has the spare key\n"

    editor.add_line(looker.root / "memory/boat.md", "- Bob has the spare key")
    looker.run_until(lambda: looker.settled["memory/boat.md"] == wanted)

    assert (looker.root / "memory/boat.md").read_bytes() == wanted
    assert {path for path, _ in looker.shown} == {"memory/boat.md"}
    assert b"" not in {raw for _, raw in looker.shown}
    assert {verdict for _, verdict in looker.concluded} == {DebounceDecision.SETTLED}
    assert set(looker.known) == {"memory/boat.md", "USER.md"}


@pytest.mark.scenario("C25")
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_checkout_is_a_change_not_a_deletion(looker: Looker, tmp_path: Path):
    def git(*args: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args],
            cwd=looker.root,
            check=True,
            capture_output=True,
        )

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    (looker.root / "memory/boat.md").write_bytes(FIRST + b"- sold\n")
    (looker.root / "memory/new.md").write_bytes(b"new\n")
    git("add", ".")
    git("commit", "-qm", "two")
    looker.run_until(lambda: looker.settled.get("memory/new.md") == b"new\n")

    git("checkout", "-q", "HEAD~1")
    looker.run_until(
        lambda: looker.known["memory/boat.md"] == FIRST and "memory/new.md" not in looker.known
    )
    git("checkout", "-q", "-")
    looker.run_until(lambda: looker.settled.get("memory/new.md") == b"new\n")

    gone = [path for path, verdict in looker.concluded if verdict is DebounceDecision.GONE]
    assert gone == ["memory/new.md"]
    assert not [path for path in looker.known if ".git" in path]


@pytest.mark.scenario("C64")
def test_a_sync_client_that_deletes_and_recreates_a_note_deletes_nothing(looker: Looker):
    names = [f"memory/{number}.md" for number in range(500)]
    for name in names:
        (looker.root / name).write_bytes(name.encode())
    looker.run_until(lambda: set(names) <= set(looker.settled))

    for name in names:
        (looker.root / name).unlink()
    for name in names:
        (looker.root / name).write_bytes(name.encode())
    looker.run_until(lambda: True)

    assert DebounceDecision.GONE not in {verdict for _, verdict in looker.concluded}
    assert set(names) <= set(looker.known)


@pytest.mark.scenario("C55")
def test_a_folder_moved_out_counts_as_deleted_only_after_the_grace_period(
    looker: Looker, tmp_path: Path
):
    began = time.monotonic()
    os.rename(looker.root / "memory", tmp_path / "memory")

    looker.run_until(lambda: "memory/boat.md" not in looker.known)

    assert time.monotonic() - began >= 3.0
    assert looker.concluded == [("memory/boat.md", DebounceDecision.GONE)]
