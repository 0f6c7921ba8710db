"""A vault with a curator, on a real disk; its time lies ahead, so that no note counts as saved just now."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.outside import Outside
from tests.scenarios.outside import outside as outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.audit_recorder import EditorSetup
from vault_memory.edits.commands import ApplyOps, RunOptions, UndoRecord
from vault_memory.edits.edit_result import Edit
from vault_memory.edits.editor import NoteEditor
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder

AHEAD = timedelta(hours=1)
ANN, BEN = "Users/ann/bot/config/USER.md", "Users/ben/bot/config/USER.md"
TEA = "# Me\n\n## Tea\n\n- green\n"

Reader = Callable[[Path], Folder]


@dataclass
class Desk:
    """One vault, one curator, and what a person does to the files."""

    vault: Path
    state: Path
    reader: Reader = Folder
    learnt: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    ahead: timedelta = AHEAD
    """of the clock"""
    _curator: NoteEditor | None = None

    @property
    def curator(self) -> NoteEditor:
        if self._curator is None:
            layout = Layout([])
            self._curator = NoteEditor(
                self.reader(self.vault),
                layout,
                self.state,
                EditorSetup(learn=lambda path, note: self.learnt.append(path), **self.options),
            )
        return self._curator

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def close(self) -> None:
        if self._curator is not None:
            self._curator.close()
            self._curator = None

    def save(self, text: str | bytes, note: str = "USER.md") -> Path:
        """A person saves, by a new file that takes the old one's name."""
        path = self.vault / note
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(path.name + ".part")
        fresh.write_bytes(text.encode() if isinstance(text, str) else text)
        fresh.rename(path)
        return path

    def raw(self, note: str = "USER.md") -> bytes:
        return (self.vault / note).read_bytes()

    def text(self, note: str = "USER.md") -> str:
        return self.raw(note).decode()

    def do(self, *ops: Any, note: str = "USER.md", source: str = "cli", **asked: Any) -> Edit:
        named = {
            name: asked.pop(name) for name in ("expected", "merge", "dry_run") if name in asked
        }
        run = self.curator.new_command(
            note, source, now := self.now, ApplyOps(ops), why=asked.get("why", "")
        )
        run = run.with_provenance(asked.get("origin", "owner"))
        return self.curator.run(run, now, RunOptions(**named))

    def append(self, line: str, heading: str = "Tea", **asked: Any) -> Edit:
        return self.do({"op": "append", "heading": heading, "line": line}, **asked)

    def undo(self, record_id: str | None) -> Edit:
        assert record_id is not None
        record = self.curator.trail.find(record_id)
        now = self.now
        return self.curator.run(
            self.curator.new_command(record.note, "undo", now, UndoRecord(record.id)), now
        )

    def records(self, note: str = "USER.md") -> list[dict[str, Any]]:
        """As they stand in the file."""
        path = self.vault / f"{note}.audit.jsonl"
        return (
            [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
            if path.exists()
            else []
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "vault").mkdir()
    (tmp_path / "state").mkdir()
    made = Desk(tmp_path / "vault", tmp_path / "state")
    made.save("# Me\n\n## Tea\n\n- green\n\n## Boats\n\nAll of them.\n")
    yield made
    made.close()


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    """A vault with the same note of two people, which is indexed."""
    for note in (ANN, BEN):
        outside.write(note, TEA)
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index()
        yield opened
