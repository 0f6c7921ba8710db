"""A vault in which one text stands everywhere it can stand, and a search for it that knows nothing of the program."""

import json
import shutil
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw

from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory

TEXT = "Zephyrine Ölkanne"
WORDS = (b"zephyrin", "ölkann".encode(), b"olkann")
"""Of the text, as the full text keeps them; they stand nowhere else"""
NFD = unicodedata.normalize("NFD", TEXT)
KEPT = "Nobody forgets the harbour seal"


@dataclass
class Everywhere:
    """Where it was put."""

    outside: Outside
    note_ids: dict[str, str]

    @staticmethod
    def soon() -> datetime:
        """A time at which no note counts as saved just now."""
        return datetime.now(UTC) + timedelta(hours=2)

    def open(self) -> VaultMemory:
        return VaultMemory.open(self.outside.vault, environment=self.outside.environment)


def fill(outside: Outside, *, kind: str = "off") -> Everywhere:
    """Ops, saves, proposals, trash, waiting writes, transcripts, copies: all of it says the text."""
    outside.settings = {"VAULT_MEMORY_EMBEDDING_KIND": kind}
    _save(outside)
    made = Everywhere(outside, {})
    now = datetime.now(UTC) + timedelta(hours=1)
    with made.open() as memory:
        memory.index(embed=kind != "off")
        for note in ("USER.md", "MEMORY.md", "memory/2026-03-01.md"):
            edit = memory.apply(note, [_append(f"{note} has the {TEXT}")], source="cli", now=now)
            made.note_ids[note] = edit.audit_id or ""
            memory.apply(note, [_append(KEPT)], source="cli", now=now)
        memory.apply(
            "USER.md",
            [_append(f"the bot's own {TEXT}")],
            source="tool",
            now=now,
            why=f"said {TEXT} once",
        )
        memory.apply(
            "USER.md",
            [{"op": "remove", "heading": "Tea", "match": "USER.md has the"}],
            source="tool",
            now=now,
        )
        memory.apply("USER.md", [_append(TEXT, "No such")], source="tool", now=now)
        memory.undo(
            memory.apply("RULES.md", [_append(f"always {TEXT}")], source="cli", now=now).audit_id
            or "",
            now=now,
        )
        _throw_away(memory, outside, now)
        outside.write("memory/.locked.md.swp", "")
        waits = memory.apply("memory/locked.md", [_append(f"waiting {TEXT}")], source="nightly")
        assert waits.pending
        memory.index(embed=kind != "off")
        for note in ("USER.md", "MEMORY.md"):
            memory.edits.keep_versions([note])
    _leave_old_files(outside)
    return made


def _append(line: str, heading: str = "Tea") -> dict[str, str]:
    return {"op": "append", "heading": heading, "line": line}


def _save(outside: Outside) -> None:
    page = "# Page\n\n## Tea\n\n- green\n- {}\n\n## Boats\n\nAll of them, {}\nbut one.\n"
    outside.write("USER.md", page.format(TEXT, NFD.upper()))
    outside.write(
        "MEMORY.md",
        page.format(f"a {TEXT.replace(' ', chr(10) + '  ')}", "none").replace("\n", "\r\n"),
    )
    outside.write("RULES.md", "# Rules\n\n## Tea\n\n- be kind\n")
    outside.write(
        "FACTS.md", f"## {TEXT.lower()}\n\n- is_a: can\n\n## ann\n\n- owns: {TEXT}\n- likes: tea\n"
    )
    outside.write("SOUL.md", f"I like the {TEXT}.\nI am calm.\n")
    outside.write("memory/2026-03-01.md", "# Day\n\n## Tea\n\n- oolong\n")
    outside.write("memory/locked.md", "# Locked\n\n## Tea\n\n- black\n")
    outside.write("memory/gone.md", f"# Gone\n\n- {TEXT}\n- {KEPT}\n")
    outside.write(
        "USER (conflicted copy 2026-03-02 101010).md", f"# Page\n\n- {TEXT} copied\n- other\n"
    )
    turn = {
        "id": "7",
        "ts": "2026-03-01T10:00:00+00:00",
        "role": "user",
        "text": f"where is the {TEXT}?",
    }
    kept = {"id": "8", "ts": "2026-03-01T10:00:01+00:00", "role": "bot", "text": KEPT}
    outside.write("transcripts/2026-03-01.jsonl", f"{json.dumps(turn)}\n{json.dumps(kept)}\n")


def _throw_away(memory: VaultMemory, outside: Outside, now: datetime) -> None:
    note = memory.read("memory/gone.md")
    done = memory.edits.editor.writer.trash(
        "memory/gone.md", expected=note.revision, now=now, op_id="thrown"
    )
    assert done.outcome == "trashed"


def _leave_old_files(outside: Outside) -> None:
    """Of builds that were cut short, and set aside as damaged."""
    index = outside.state / "index"
    serving = index / f"index-{(index / 'current').read_text()}.sqlite"
    shutil.copy(serving, index / "index-77.sqlite")
    shutil.copy(serving, index / "index-1.sqlite.damaged")
    shutil.copy(outside.state / "journal.sqlite", outside.state / "journal.sqlite.damaged-1")


def traces(*roots: Path) -> list[str]:
    """Where it stands: in the bytes of any file, in any row of any database, packed or not."""
    found = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            if not path.is_file():
                continue
            found += [f"{path.name}: bytes" for _ in [0] if says(path.read_bytes())]
            if path.suffix == ".sqlite" or ".damaged" in path.name:
                found += [f"{path.name}: {table}" for table, value in _rows(path) if says(value)]
    return found


def says(raw: bytes) -> bool:
    """Whether bytes say it, or one of its words, in any form."""
    text = raw.decode("utf-8", "replace")
    if "\\u" in text:
        text += raw.decode("unicode_escape", "replace")
    plain = unicodedata.normalize("NFC", text).lower().encode("utf-8", "replace")
    return any(word in plain for word in WORDS)


def _rows(path: Path) -> Iterator[tuple[str, bytes]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(10_000)
    try:
        tables = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master WHERE rootpage > 0 AND type = 'table'"
            )
        ]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                yield from ((table, one) for value in row for one in _readings(value))
    finally:
        connection.close()


def _readings(value: Any) -> Iterator[bytes]:
    if isinstance(value, str):
        yield value.encode("utf-8", "replace")
    elif isinstance(value, bytes):
        yield value
        try:
            yield zlib.decompress(value)
        except zlib.error:
            return


def tree(*roots: Path) -> dict[str, bytes]:
    """All files with their bytes."""
    return {
        str(path): path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()
    }


__all__ = ["KEPT", "NFD", "TEXT", "Everywhere", "fill", "says", "traces", "tree"]
