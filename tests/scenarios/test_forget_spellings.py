"""Whatever way a text was written in, and whatever it named: afterwards no byte of any file reads like it."""

import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.scenarios.outside import Outside
from tests.scenarios.spellings import reads, spellings
from vault_memory.api.vault_memory import VaultMemory

TEXT = "Zephyrine Ölkanne"
READ = reads(TEXT)
NAME = "Zephyrine Ölkanne plan"


def opened(folder: Path) -> VaultMemory:
    environment = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_CACHE": str(folder / "cache"),
    }
    return VaultMemory.open(folder / "vault", environment=environment)


def hours_later(hours: int = 1) -> datetime:
    return datetime.now(UTC) + timedelta(hours=hours)


def all_contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All that any file holds: its name, its bytes, the rows of databases, and what is packed in them."""
    for path in sorted(folder.rglob("*")):
        yield f"name of {path.name}", path.name.encode()
        if not path.is_file() or path.is_socket():
            continue
        raw = path.read_bytes()
        yield str(path.relative_to(folder)), raw
        if raw.startswith(b"SQLite format 3"):
            yield from ((f"rows of {path.name}", value) for value in _values(path))


def _values(path: Path) -> Iterator[bytes]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            for value in (
                one for row in connection.execute(f'SELECT * FROM "{table}"') for one in row
            ):
                if isinstance(value, str):
                    yield value.encode("utf-8", "replace")
                elif isinstance(value, bytes):
                    yield value
                    try:
                        yield zlib.decompress(value)
                    except zlib.error:
                        continue
    finally:
        connection.close()


def places_of(folder: Path) -> list[str]:
    return sorted({place for place, raw in all_contents(folder) if READ in reads(raw)})


def append(memory: VaultMemory, note: str, line: str, source: str = "cli") -> None:
    line = " ".join(line.replace("-\n  ", "-").split())  # an op's line is one line
    memory.apply(
        note, [{"op": "append", "heading": "Tea", "line": line}], source=source, now=hours_later()
    )


@pytest.mark.sampled
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(spellings(TEXT), min_size=4, max_size=4))
def test_no_file_contains_any_spelling_of_a_forgotten_text(spelled: list[str]):
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "vault/memory").mkdir(parents=True)
        page = f"# A\n\n## Tea\n\n- green\n- {spelled[0]}\n\n## Boats\n\nFirst.\n\nA {spelled[1]} more.\n"
        (folder / "vault/USER.md").write_text(page)
        (folder / "vault/memory/plan.md").write_text("## Tea\n\n- black\n")
        (folder / "vault/memory/gone.md").write_text(f"## Tea\n\n- {spelled[2]}\n")
        with opened(folder) as memory:
            memory.index(embed=False)
            append(memory, "USER.md", f"once {spelled[3]}")
            append(memory, "memory/plan.md", f"never {spelled[3]}", source="tool")
            memory.edits.keep_versions(["USER.md", "memory/plan.md", "memory/gone.md"])
            (folder / "vault/memory/gone.md").unlink()
            memory.record_turn(
                session=f"s {TEXT}", role="user", user="main", text=f"hm, {spelled[2]}"
            )
            memory.index(embed=False)
            assert places_of(folder)

            done = memory.forget(TEXT, now=hours_later(2))

        assert places_of(folder) == []
        assert not done.remaining
        assert (
            folder / "vault/USER.md"
        ).read_text() == "# A\n\n## Tea\n\n- green\n\n## Boats\n\nFirst.\n\n"


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.quick = True
    outside.write("USER.md", "# A\n\n## Tea\n\n- green\n")
    outside.write(f"memory/{NAME}.md", "## Tea\n\n- black\n")
    return outside


def open_memory(vault: Outside) -> VaultMemory:
    return VaultMemory.open(vault.vault, environment=vault.environment)


def fill(vault: Outside) -> None:
    """History, audit, proposals, trash and sessions, all under a name that is to be forgotten."""
    with open_memory(vault) as memory:
        memory.index(embed=False)
        append(memory, f"memory/{NAME}.md", "oolong")
        remove = [{"op": "remove", "heading": "Tea", "match": "black"}]
        memory.apply(f"memory/{NAME}.md", remove, source="tool", now=hours_later())
        memory.edits.keep_versions([f"memory/{NAME}.md"])
        memory.record_turn(session=f"talk of {TEXT}", role="user", user="main", text="hello there")


def rename(vault: Outside, *, audit: bool) -> None:
    folder = vault.vault / "memory"
    (folder / f"{NAME}.md").rename(folder / "plan.md")
    if audit:
        (folder / f"{NAME}.md.audit.jsonl").rename(folder / "plan.md.audit.jsonl")


@pytest.mark.sampled
@pytest.mark.parametrize("audit", [True, False])
def test_an_old_note_name_is_forgotten_once_the_note_is_renamed(vault: Outside, audit: bool):
    fill(vault)
    named = vault.run("forget", TEXT, "--yes", "--json")
    assert named.code == 1
    assert "rename it" in json.dumps(named.json["remaining"])
    rename(vault, audit=audit)

    done = vault.run("forget", TEXT, "--yes", "--json")

    assert (done.code, done.json["remaining"]) == (0, 0), done
    assert places_of(vault.vault) == places_of(vault.state) == []
    assert (vault.vault / "memory/plan.md").read_text() == "## Tea\n\n- black\n- oolong\n"
    with open_memory(vault) as memory:
        assert memory.search("hello there", scopes=memory.scopes()).hits
        assert [
            one
            for one in memory.log()
            if any(done.op.get("line") == "oolong" for done in one.applied)
        ]


@pytest.mark.sampled
def test_the_name_of_a_session_is_forgotten_and_its_turns_stay(vault: Outside):
    with open_memory(vault) as memory:
        memory.index(embed=False)
        (vault.vault / f"memory/{NAME}.md").unlink()
        for text in ("one", "two"):
            memory.record_turn(session=TEXT, role="user", user="main", text=f"the harbour {text}")

        done = memory.forget(TEXT, now=hours_later())

        assert not done.remaining
        assert {hit.note for hit in memory.search("harbour", scopes=memory.scopes()).hits}
        [path] = (vault.vault / "transcripts").glob("*.jsonl")
        turns = [json.loads(line) for line in path.read_text().splitlines()]
    assert [turn["text"] for turn in turns] == ["the harbour one", "the harbour two"]
    assert len({turn["session"] for turn in turns}) == 1
    assert places_of(vault.vault) == places_of(vault.state) == []


def test_similar_texts_are_reported_and_kept(vault: Outside):
    vault.write("MEMORY.md", "## Tea\n\n- Zephyrine-Ölkanne\n- Zéphyrine Olkanne\n- other\n")

    done = vault.run("forget", TEXT, "--yes", "--json")

    assert {"place": "MEMORY.md", "count": 2} in done.json["alike"]
    assert (vault.vault / "MEMORY.md").read_text().count("lkanne") == 2
    assert "reads alike, and stays: MEMORY.md  2" in vault.run("forget", TEXT, "--dry-run").out


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["journal.sqlite", "sync.sqlite"])
def test_databases_set_aside_are_deleted_with_their_logs(vault: Outside, name: str):
    fill(vault)
    for ending in ("", "-wal", "-shm"):
        (vault.state / f"{name}.damaged-1{ending}").write_bytes(b"\0" + TEXT.encode())
    rename(vault, audit=True)

    assert vault.ok("forget", TEXT, "--yes")["remaining"] == 0

    assert not list(vault.state.rglob("*.damaged*"))


@pytest.mark.sampled
def test_in_a_read_only_vault_only_the_note_keeps_the_text_and_is_reported(vault: Outside):
    (vault.vault / f"memory/{NAME}.md").unlink()
    note = vault.write("MEMORY.md", f"## Tea\n\n- {TEXT}\n- other\n")
    with open_memory(vault) as memory:
        memory.index(embed=False)
        append(memory, "MEMORY.md", f"more {TEXT}")
        memory.edits.keep_versions(["MEMORY.md"])
    for path in (note, vault.vault):
        os.chmod(path, path.stat().st_mode & ~0o222)
    try:
        with open_memory(vault) as memory:
            append(memory, "MEMORY.md", f"waits {TEXT}")
            assert memory.edits.waiting()
        done = vault.run("forget", TEXT, "--yes", "--json")
        left = places_of(vault.state), places_of(vault.vault)
    finally:
        for path in (vault.vault, note):
            os.chmod(path, path.stat().st_mode | 0o200)

    assert done.code == 1
    assert [one["place"] for one in done.json["remaining"]] == ["MEMORY.md"]
    assert left == ([], ["MEMORY.md"])
    assert vault.ok("forget", TEXT, "--yes")["remaining"] == 0
    assert places_of(vault.vault) == places_of(vault.state) == []
    assert note.read_text() == "## Tea\n\n- other\n"


@pytest.mark.sampled
def test_a_running_daemon_that_may_hold_the_text_in_memory_is_reported(vault: Outside):
    fill(vault)
    rename(vault, audit=True)
    with vault.daemon() as daemon:
        done = vault.ok("forget", TEXT, "--yes")

        assert [one["pid"] for one in done["in_memory"]] == [daemon.pid]
        assert done["remaining"] == 0
    assert vault.ok("forget", TEXT, "--yes")["in_memory"] == []
