"""Edit histories of a small vault, and what an index says at the end of one."""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from vault_memory.index.store import Index
from vault_memory.ingest.scan import Ingest
from vault_memory.rules.paths.layout import Layout
from vault_memory.search.query import SearchQuery, search
from vault_memory.vault.reader import Folder

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PATHS = (
    "USER.md",
    "MEMORY.md",
    "memory/2026-05-01.md",
    "memory/garden.md",
    "memory/deep/er/pond.md",
    "Users/ann/memories/2026-05-02.md",
    "Users/ann/memories/boat.md",
    "Users/anna/memories/boat.md",
    "Channels/harbour/CHANNEL.md",
    "FACTS.md",
    "Channels/harbour/FACTS.md",
    "notes-of-nobody.md",
)
LINES = (
    "## Garden\n",
    "### Roses\n",
    "# Top\r\n",
    "- The apple tree bears fruit (2026-04-03)\n",
    "- **Ann**: the boat leaks ^b-1\n",
    "- the boat leaks\n",
    "  and the oar is broken\n",
    "A paragraph about apples, boats and 苹果树.\n",
    "\n",
    "```\n",
    "| a | b |\n| - | - |\n| boat | 7 |\n",
    "topic: work\n",
    "- lives_in: Ostervik (since 2026-04-03)\n",
    "- ~~lives_in: Gull Rock~~ (until 2026-04-03)\n",
    "- also_known_as: the @boat, #boat, boat@example.org\n",
    "Ещё одна строка\n",
    "\xff\xfe not text\n",
)
QUERIES = ("boat", "the apple tree", "苹果", "еще", "who leaks?", "garden roses")

Edit = tuple[str, int, int, int]
"""What is done, to which path, with which lines, and where the other path is"""
KINDS = (
    "write",
    "append",
    "insert",
    "delete",
    "rename",
    "copy",
    "same size",
    "remove folder",
    "scan",
)


def random_edits(source: random.Random, length: int) -> list[Edit]:
    return [
        (
            source.choice(KINDS),
            source.randrange(1000),
            source.randrange(1_000_000),
            source.randrange(1000),
        )
        for _ in range(length)
    ]


def apply(root: Path, edit: Edit) -> None:
    """One edit by a person's tools; an edit that cannot be is none."""
    kind, where, what, other = edit
    path, target = root / PATHS[where % len(PATHS)], root / PATHS[other % len(PATHS)]
    lines = [
        LINES[(what >> shift) % len(LINES)].encode("latin-1", "ignore") or b"x\n"
        for shift in range(0, 16, 3)
    ]
    if kind in ("write", "append", "insert"):
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_bytes() if path.exists() and kind != "write" else b""
        new = b"".join(lines[: what % 6])
        path.write_bytes(new + old if kind == "insert" else old + new)
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif kind == "remove folder" and path.parent != root:
        shutil.rmtree(path.parent, ignore_errors=True)
    elif kind == "same size" and path.exists():
        path.write_bytes(path.read_bytes().translate(bytes.maketrans(b"ae", b"ea")))
    elif kind in ("rename", "copy") and path.exists() and path != target:
        target.parent.mkdir(parents=True, exist_ok=True)
        (os.replace if kind == "rename" else shutil.copy2)(path, target)


def ingest_of(root: Path, index: Index) -> Ingest:
    return Ingest(Folder(root), index, Layout(), time.time_ns)


def settle(ingest: Ingest) -> None:
    """What a one-shot command does, without the wait: nothing else writes here."""
    ingest.look_again(ingest.scan(), conclude_young=True)


def contents(index: Index) -> Iterator[tuple[object, ...]]:
    """Everything the index says of the notes, without the numbers that depend on the order of events."""
    run = index.connection.execute
    yield from run(
        "SELECT path, scope.name, kind, date, bytes, revision FROM note JOIN scope ON scope.id = scope ORDER BY 1"
    )
    yield from run(
        "SELECT note.path, ordinal, scope.name, first_line, last_line, chunk.date, identity, heading, who, topic, text"
        " FROM chunk JOIN note ON note.id = chunk.note JOIN scope ON scope.id = chunk.scope ORDER BY 1, 2"
    )
    run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, chunk_fts, instance)")
    yield from run(
        "SELECT note.path, ordinal, col, offset, CASE col WHEN 'scope' THEN '' ELSE term END"
        " FROM temp.terms JOIN chunk ON chunk.id = doc JOIN note ON note.id = chunk.note ORDER BY 1, 2, 3, 4, 5"
    )
    facts = "fact, subject, predicate, object, valid_from, valid_until, temporary, confidence, struck, text"
    yield from run(
        f"SELECT path, row_number() OVER (PARTITION BY note ORDER BY ordinal), scope.name, {facts}"
        " FROM fact JOIN note ON note.id = note JOIN scope ON scope.id = fact.scope ORDER BY 1, 2"
    )
    yield from run(
        "SELECT path, scope.name, lead, key, entity FROM entity_name e JOIN note ON note.id = e.note"
        " JOIN scope ON scope.id = e.scope ORDER BY 1, 2, 3, 4, 5"
    )
    yield from run(
        "SELECT path, scope.name, key, type, count FROM mention m JOIN note ON note.id = m.note"
        " JOIN scope ON scope.id = m.scope ORDER BY 1, 2, 3, 4"
    )
    yield from run(
        "SELECT coalesce(a.name, ''), coalesce(b.name, ''), chunks, words FROM volume v"
        " LEFT JOIN scope a ON a.id = v.scope LEFT JOIN scope b ON b.id = v.also ORDER BY 1, 2"
    )
    for table in ("fact", "entity_name", "mention"):
        assert run(f"SELECT count(*) FROM {table} WHERE note NOT IN (SELECT id FROM note)").get == 0
    [(rows, docs)] = run("SELECT (SELECT count(*) FROM chunk), (SELECT count(*) FROM chunk_fts)")
    yield "rows", rows, docs


def answers(index: Index) -> list[tuple[object, ...]]:
    """What searches find, with their scores."""
    return [
        (query, scope, hit.note, hit.lines, hit.text, round(hit.score, 9))
        for query in QUERIES
        for scope in index.scopes()
        for hit in search(index, SearchQuery(query, [scope], now=NOW, limit=50)).hits
    ]


def check_law(
    root: Path, state: Path, edits: list[Edit], between: Callable[[Path, Path], None] | None = None
) -> None:
    """An index brought up to date step by step equals one built afresh."""
    root.mkdir(parents=True, exist_ok=True)
    state.mkdir(parents=True, exist_ok=True)
    stepwise = Index(state / "stepwise.sqlite")
    for edit in edits:
        if edit[0] == "scan":
            if between:
                between(root, state / "stepwise.sqlite")
            settle(ingest_of(root, stepwise))
        else:
            apply(root, edit)
    settle(ingest_of(root, stepwise))
    fresh = Index(state / "fresh.sqlite")
    settle(ingest_of(root, fresh))
    try:
        assert list(contents(stepwise)) == list(contents(fresh))
        assert answers(stepwise) == answers(fresh)
    finally:
        stepwise.close()
        fresh.close()
