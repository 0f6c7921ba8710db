"""Taking what was deleted from an index out of its file as well: words, vectors, and what older files still hold."""

from collections.abc import Callable
from pathlib import Path

from vault_memory.database.secure_delete import compact
from vault_memory.index.generations import Generations
from vault_memory.index.store import Index
from vault_memory.index.vectors import SWEPT


def notes_holding(
    index: Index, holds: Callable[[str], bool]
) -> dict[str, tuple[str, int]]:
    """The notes of whose chunks some hold a text: path → scope, and in how many."""
    rows = index.connection.execute(
        "SELECT note.path, scope.name, chunk.heading, chunk.who, chunk.topic, chunk.text"
        " FROM chunk JOIN note ON note.id = chunk.note JOIN scope ON scope.id = note.scope"
    )
    found: dict[str, tuple[str, int]] = {}
    for path, scope, *texts in rows:
        if any(holds(text) for text in texts):
            found[path] = scope, found.get(path, (scope, 0))[1] + 1
    return found


def unused(index: Index) -> int:
    """How many vectors and words are of chunks that are not there any more; 0 after `sweep`."""
    [(vectors,)] = index.connection.execute(
        "SELECT count(*) FROM vector WHERE identity NOT IN (SELECT identity FROM chunk)"
    )
    [(words,)] = index.connection.execute(
        "SELECT count(*) FROM chunk_fts_docsize WHERE id NOT IN (SELECT id FROM chunk)"
    )
    return int(vectors) + int(words)


def sweep(index: Index) -> bool:
    """Take out what is of no chunk, and write the file anew; False while another process reads it."""
    with index.transaction():
        index.set(SWEPT, str(int(index.get(SWEPT) or 0) + 1))
        index.connection.execute(
            "DELETE FROM vector WHERE identity NOT IN (SELECT identity FROM chunk)"
        )
        index.connection.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('optimize')")
    return compact(index.connection)


def superseded(generations: Generations) -> list[Path]:
    """Files of an index that does not serve: of a build that was cut short, or set aside as damaged."""
    serving = generations.path(generations.current).name
    files = (file for file in generations.folder.glob("index-*") if file.is_file())
    return sorted(
        file
        for file in files
        if file.name.removesuffix("-wal").removesuffix("-shm") != serving
    )
