"""Summaries in SOUL.md go to MEMORY.md: as they are, recorded, undoable, and whole whatever happens in between."""

import os
import shutil
import signal
from datetime import UTC, datetime

import pytest

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory, config
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.vault.fs import RealFiles

NOW = datetime(2090, 6, 1, 12, tzinfo=UTC)
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))
FIRST = b"## Session Compaction 2026-01-28\n\nWe spoke about \xc2\xabPetrel\xc2\xbb.\n\n### Open\n\n- paint her\n\n"
SECOND = b"Session compaction (2026-02-03)\n----\n```\n## no heading\n```\n"
SOUL = b"# Soul\n\nBe kind.\n\n" + FIRST + b"## Voice\n\n- brief\n\n" + SECOND
KEPT = b"# Soul\n\nBe kind.\n\n## Voice\n\n- brief\n"
MEMORY = b"## Boat\n\n- red\n"
MOVED = MEMORY + b"\n" + FIRST.rstrip() + b"\n\n" + SECOND


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "vault").mkdir()
    with opened(tmp_path) as memory:
        (memory.root / "SOUL.md").write_bytes(SOUL)
        (memory.root / "MEMORY.md").write_bytes(MEMORY)
        yield memory


def opened(folder):
    return VaultMemory.open(
        folder / "vault", OFF, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
    )


def soul(memory, now=NOW, **asked):
    return memory.transfer.import_from(memory.root / "SOUL.md", now=now, **asked)


def text(memory, name):
    file = memory.root / name
    return file.read_bytes() if file.exists() else None


def both(memory):
    return text(memory, "SOUL.md"), text(memory, "MEMORY.md")


def test_sections_move_byte_for_byte_and_remain_searchable(memory):
    done = soul(memory)

    assert both(memory) == (KEPT, MOVED)
    assert (done.moved, done.notes, done.skipped) == (2, ["MEMORY.md", "SOUL.md"], [])
    assert memory.search("Petrel", scopes=["group:main"]).hits
    assert [(one.note, one.source) for one in memory.log()] == [
        ("MEMORY.md", "cli"),
        ("SOUL.md", "cli"),
    ]


def test_each_half_of_the_move_can_be_undone_even_after_an_edit(memory):
    soul(memory)
    into, out = memory.log()
    memory.undo(out.id, now=NOW)
    memory.undo(into.id, now=NOW)
    assert both(memory) == (SOUL, MEMORY)

    soul(memory)
    into, out = memory.log()[-2:]
    for name, raw in (("SOUL.md", KEPT), ("MEMORY.md", MOVED)):
        (memory.root / name).write_bytes(raw.replace(b"## ", b"## A\n\n- mine\n\n## ", 1))
    memory.undo(out.id, now=NOW)
    memory.undo(into.id, now=NOW)
    found, left = both(memory)
    assert b"Petrel" in found
    assert b"# no heading" in found
    assert b"- mine" in found
    assert left == MEMORY.replace(b"## ", b"## A\n\n- mine\n\n## ", 1)


def test_a_section_in_both_notes_is_not_duplicated(memory):
    (memory.root / "MEMORY.md").write_bytes(MOVED + b"\nAnd a word of mine.\n")
    done = soul(memory)
    assert (done.moved, done.known) == (2, 2)
    assert both(memory) == (KEPT, MOVED + b"\nAnd a word of mine.\n")
    assert soul(memory).notes == []


def test_moved_sections_take_the_line_endings_of_their_new_note(memory):
    (memory.root / "MEMORY.md").write_bytes(b"## Boat\r\n\r\n- red")
    soul(memory)
    raw = text(memory, "MEMORY.md")
    assert raw.startswith(b"## Boat\r\n\r\n- red\r\n\r\n## Session Compaction 2026-01-28\r\n\r\nWe")
    assert raw.count(b"\n") == raw.count(b"\r\n")


def test_a_missing_memory_note_is_created_but_not_without_sections_to_move(memory):
    (memory.root / "MEMORY.md").unlink()
    soul(memory)
    assert both(memory) == (KEPT, FIRST.rstrip() + b"\n\n" + SECOND)
    assert soul(memory).notes == []
    assert len(memory.log()) == 2


def test_a_section_that_the_move_would_change_is_not_moved(memory):
    (memory.root / "MEMORY.md").write_bytes(MEMORY + b"```\nnever closed\n")
    done = soul(memory)
    assert [one.reason for one in done.skipped] == ["would_change_structure"] * 2
    assert both(memory) == (SOUL, MEMORY + b"```\nnever closed\n")


def test_the_persona_stays_complete_while_the_memory_cannot_be_written(memory):
    (memory.root / "twin.md").hardlink_to(memory.root / "MEMORY.md")
    done = soul(memory)
    assert done.moved == 0
    assert "waits" in done.skipped[0].reason
    assert both(memory) == (SOUL, MEMORY)
    (memory.root / "twin.md").unlink()
    memory.edits.process_due(NOW)
    assert both(memory) == (SOUL, MOVED)
    assert soul(memory, NOW.replace(hour=13)).moved == 2
    assert both(memory) == (KEPT, MOVED)


def test_nothing_else_can_change_the_persona(memory):
    for asked in ({"source": "tool"}, {"source": "cli"}):
        with pytest.raises(NotCurated):
            memory.apply("SOUL.md", [{"op": "append", "heading": "Voice", "line": "loud"}], **asked)
    assert soul(memory, scopes=["user:main"]).notes == []
    assert both(memory) == (SOUL, MEMORY)


def test_a_moved_section_can_be_forgotten_everywhere(memory):
    soul(memory)
    done = memory.forget("We spoke about «Petrel»", now=NOW)
    assert not done.remaining
    assert not [
        path for path in memory.root.rglob("*") if path.is_file() and b"Petrel" in path.read_bytes()
    ]


def test_the_command_previews_the_move_and_then_does_it(memory, tmp_path):
    seen = Outside(memory.root, tmp_path / "home", {"VAULT_MEMORY_STATE": str(tmp_path / "state")})
    seen.home.mkdir()
    would = seen.run("import", "SOUL.md", "--dry-run", "--now", NOW.isoformat())
    assert "would move 2 sections" in would.out
    assert "+## Session Compaction 2026-01-28" in would.out
    assert "-## Session Compaction 2026-01-28" in would.out
    assert both(memory) == (SOUL, MEMORY)
    assert seen.ok("import", "SOUL.md", "--now", NOW.isoformat())["moved"] == 2
    assert both(memory) == (KEPT, MOVED)
    told = seen.run("log", "SOUL.md").out
    assert "-## Session Compaction 2026-01-28" in told


CALLS = ("rename", "replace", "write", "fsync", "fdatasync", "unlink", "utime", "link", "open")


def killed(memory, step):
    """In a process of its own, which is killed before a step; False when it came to its end."""
    child = os.fork()
    if child == 0:
        count = 0

        def before():
            nonlocal count
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

        def stepping(real):
            return lambda *args, **named: (before(), real(*args, **named))[1]

        for name in (name for name in vars(RealFiles) if not name.startswith("_")):
            setattr(RealFiles, name, stepping(getattr(RealFiles, name)))
        for name in CALLS:
            setattr(os, name, stepping(getattr(os, name)))
        try:
            soul(memory)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.sampled
@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.deep)])
def test_a_kill_before_any_step_loses_and_duplicates_nothing(memory, tmp_path, stride):
    memory.close()
    for name in ("vault", "state"):
        shutil.copytree(tmp_path / name, tmp_path / "kept" / name)
    step, seen, died = 0, set(), True
    while died:
        step += stride
        for name in ("vault", "state"):
            shutil.rmtree(tmp_path / name)
            shutil.copytree(tmp_path / "kept" / name, tmp_path / name)
        with opened(tmp_path) as victim:
            died = killed(victim, step)
        with opened(tmp_path) as memory:
            between = both(memory)
            assert between[0] in (SOUL, KEPT)
            assert between[1] in (MEMORY, MOVED)
            assert between != (KEPT, MEMORY), "it stands in neither"
            seen.add(between)
            soul(memory)
            assert both(memory) == (KEPT, MOVED)
            did = [(one.note, one.before != one.after) for one in memory.log()]
            assert sorted(name for name, changed in did if changed) == ["MEMORY.md", "SOUL.md"]
    assert step > 100
    assert seen == {(SOUL, MEMORY), (SOUL, MOVED), (KEPT, MOVED)}
