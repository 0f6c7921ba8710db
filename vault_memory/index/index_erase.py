"""Erases deleted text from the file of an index: words, vectors, and older files."""

from collections.abc import Callable
from pathlib import Path

from vault_memory.database.secure_delete import compact
from vault_memory.index.generations import Generations
from vault_memory.index.store import Index
from vault_memory.index.vectors import SWEPT


def notes_holding(index: Index, holds: Callable[[str], bool]) -> dict[str, tuple[str, int]]:
    """Return the notes with chunks that contain a text: path → scope, and number of chunks."""
    rows = index.connection.execute(
        "SELECT note.path, scope.name, chunk.heading, chunk.who, chunk.topic, chunk.text"
        " FROM chunk"
        " JOIN note ON note.id = chunk.note"
        " JOIN scope ON scope.id = note.scope"
    )
    notes: dict[str, tuple[str, int]] = {}
    for path, scope, *texts in rows:
        if any(map(holds, texts)):
            _, count = notes.get(path, (scope, 0))
            notes[path] = scope, count + 1
    return notes


def unused(index: Index) -> int:
    """Return how many vectors and texts belong to deleted chunks; 0 after `sweep`."""
    [(vectors,)] = index.connection.execute(
        "SELECT count(*) FROM vector WHERE identity NOT IN (SELECT identity FROM chunk)"
    )
    [(words,)] = index.connection.execute(
        "SELECT count(*) FROM chunk_fts_docsize WHERE id NOT IN (SELECT id FROM chunk)"
    )
    return int(vectors) + int(words)


def sweep(index: Index) -> bool:
    """Delete vectors and words without a chunk, and rewrite the file.

    Return False while another process reads the file.
    """
    with index.transaction():
        # Fault: a process that is embedding deleted text sees the new number and stores
        # nothing.
        sweeps = int(index.get(SWEPT) or 0)
        index.set(SWEPT, str(sweeps + 1))
        index.connection.execute(
            "DELETE FROM vector WHERE identity NOT IN (SELECT identity FROM chunk)"
        )
        index.connection.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('optimize')")
    return compact(index.connection)


def superseded(generations: Generations) -> list[Path]:
    """Return files of an index that is not in use: of an interrupted build, or damaged ones."""
    serving = generations.path(generations.current).name
    files = (file for file in generations.folder.glob("index-*") if file.is_file())
    return sorted(
        file for file in files if file.name.removesuffix("-wal").removesuffix("-shm") != serving
    )
