"""The drop folder: any program adds lines, each is recorded once, whatever crashes between any two steps."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.conversations import drop_folder as dropped
from vault_memory.conversations.drop_folder import DropReport
from vault_memory.edits.edit_errors import TurnNotRecorded


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write("Users/alice/lantern/config/USER.md", "## Tea\n\n- green\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index()
        opened.conversations.drop_folder.make()
        yield opened


def line(text: str, **said: object) -> str:
    known = {
        "session": "s",
        "role": "user",
        "user": "alice",
        "source": "email",
        "ts": "2026-04-06T12:00:00+00:00",
    }
    return json.dumps({**known, "text": text, **said}) + "\n"


def drop(memory: VaultMemory, *lines: str, name: str = "mail.jsonl") -> Path:
    path = memory.conversations.drop_folder.path / name
    with path.open("a") as file:
        file.write("".join(lines))
    return path


def texts(memory: VaultMemory, scope: str = "user:alice") -> list[str]:
    return [turn.text for turn in memory.conversations.transcripts.of(scope)]


def remaining_files(memory: VaultMemory) -> list[str]:
    return sorted(
        path.name
        for path in memory.conversations.drop_folder.path.iterdir()
        if path.name != ".lock"
    )


def test_dropped_lines_are_recorded_once_and_their_file_is_removed(memory):
    drop(memory, line("one kettle"), line("two", channel="kitchen"), line("three", ts=""))

    assert memory.conversations.take_dropped() == DropReport(3, 0)
    assert memory.conversations.take_dropped() == DropReport()

    assert texts(memory) == ["one kettle", "three"]
    assert texts(memory, "channel:kitchen") == ["two"]
    assert remaining_files(memory) == []
    assert memory.search("kettle", scopes=["user:alice"], refresh=False).hits


def test_ids_and_sources_given_by_a_program_are_kept(memory):
    drop(memory, line("one", id="mail-17", origin="person"))
    memory.conversations.take_dropped()
    drop(
        memory,
        line("one", id="mail-17", origin="person"),
        line("two", id="mail-18"),
        line("two", id="mail-18"),
    )
    memory.conversations.take_dropped()

    turns = memory.conversations.transcripts.of("user:alice")
    assert [(turn.id, turn.source, turn.origin) for turn in turns] == [
        ("mail-17", "email", "person"),
        ("mail-18", "email", "email"),
    ]


def test_identical_lines_without_ids_are_separate_turns(memory):
    drop(memory, line("yes"), line("yes"))
    memory.conversations.take_dropped()

    assert texts(memory) == ["yes", "yes"]


def test_invalid_lines_are_set_aside_with_the_reason(memory):
    bad = [
        line("x", source=""),
        "nonsense\n",
        line("x", user="../bob"),
        line("x", mode="loud"),
        line("x", role="king"),
    ]
    drop(memory, line("good"), *bad, line("good, too"))

    assert memory.conversations.take_dropped() == DropReport(2, 5)

    assert texts(memory) == ["good", "good, too"]
    [aside] = remaining_files(memory)
    said = [
        json.loads(one)
        for one in (memory.conversations.drop_folder.path / aside).read_text().splitlines()
    ]
    assert [one["line"] + "\n" for one in said] == bad[:2] + bad[2:]
    assert all(one["reason"] for one in said)


def test_incognito_and_silent_lines_are_removed_without_being_recorded(memory):
    drop(memory, line("secret", mode="incognito"), line("report", silent=True))

    memory.conversations.take_dropped()

    assert texts(memory) == []
    assert remaining_files(memory) == []


def test_an_unfinished_line_waits_for_its_end(memory):
    path = memory.conversations.drop_folder.path / "slow.jsonl"
    with path.open("a") as file:
        whole = line("written in two parts")
        file.write(line("before") + whole[:20])
        file.flush()
        memory.conversations.take_dropped()
        assert texts(memory) == ["before"]

        file.write(whole[20:])
        file.flush()
        memory.conversations.take_dropped()
        assert texts(memory) == ["before", "written in two parts"]

        drop(memory, line("by another"), name="slow.jsonl")
        file.write(line("into the old file"))
        file.flush()
        memory.conversations.take_dropped()
    memory.conversations.take_dropped()

    assert sorted(texts(memory)) == [
        "before",
        "by another",
        "into the old file",
        "written in two parts",
    ]
    assert remaining_files(memory) == []


def test_a_last_line_without_newline_is_recorded_once_the_file_is_closed(memory):
    drop(memory, line("no newline").rstrip())

    memory.conversations.take_dropped()

    assert texts(memory) == ["no newline"]


def test_symlinks_folders_and_hidden_files_are_left_alone(memory, tmp_path):
    (tmp_path / "elsewhere.jsonl").write_text(line("from outside"))
    (memory.conversations.drop_folder.path / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (memory.conversations.drop_folder.path / "folder.jsonl").mkdir()
    os.mkfifo(memory.conversations.drop_folder.path / "pipe.jsonl")
    drop(memory, line("being made"), name=".mail.jsonl")

    assert memory.conversations.take_dropped() == DropReport()

    assert remaining_files(memory) == [".mail.jsonl", "folder.jsonl", "link.jsonl", "pipe.jsonl"]


@pytest.mark.sampled
def test_a_file_of_thousands_of_lines_is_recorded_completely(memory):
    drop(memory, *(line(f"line {number}") for number in range(3_000)))

    assert memory.conversations.take_dropped() == DropReport(3_000, 0)
    assert len(set(texts(memory))) == 3_000


def test_dropped_lines_wait_while_nothing_can_be_written(memory):
    (memory.root / "Users/alice/transcripts/2026-04-06.jsonl").mkdir(parents=True)
    drop(memory, line("one"))

    with pytest.raises(TurnNotRecorded):
        memory.conversations.take_dropped()
    os.rmdir(memory.root / "Users/alice/transcripts/2026-04-06.jsonl")
    memory.conversations.take_dropped()

    assert texts(memory) == ["one"]


def test_forgotten_text_does_not_return_from_the_drop_folder(memory):
    drop(memory, line("the safe opens with tide and lantern"), line("good morning"))

    forgotten = memory.forget("tide and lantern")

    assert forgotten.remaining == ()
    assert memory.conversations.take_dropped() == DropReport()
    assert memory.search("lantern", scopes=["user:alice"]).hits == ()
    assert [
        path
        for path in memory.vault.state.path.rglob("*")
        if path.is_file() and b"tide and" in path.read_bytes()
    ] == []
    assert "good morning" in texts(memory)


def crashing(step: int) -> Callable[..., None]:
    """Ends the process with SIGKILL at its `step`-th call to the system that changes a file."""
    count = 0

    def kill_at_step(*_: object) -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return kill_at_step


def record_in_a_killed_process(memory: VaultMemory, step: int) -> bool:
    """In a process of its own, which is killed before a step; False when it came to its end."""
    child = os.fork()
    if child == 0:
        before = crashing(step)
        for name in ("rename", "replace", "write", "fdatasync", "unlink", "utime", "pread"):
            real = getattr(os, name)
            setattr(os, name, lambda *a, _real=real, **k: (before(), _real(*a, **k))[1])
        real_mark = dropped._write_offset
        dropped._write_offset = lambda *a: (before(), real_mark(*a))[1]
        try:
            memory.conversations.take_dropped()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.sampled
def test_a_kill_before_any_step_loses_and_duplicates_no_line(outside):
    outside.write("Users/alice/lantern/config/USER.md", "## Tea\n")
    wanted, rejected, step = [], 0, 0
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        memory.conversations.drop_folder.make()
        died = True
        while died:
            step += 1
            fresh = [f"first of {step}", f"second of {step}"]
            wanted += fresh
            rejected += 1
            drop(memory, *map(line, fresh), "no turn\n", name=f"{step}.jsonl")
            died = record_in_a_killed_process(memory, step)
        memory.conversations.take_dropped()

        assert step > 10
        assert sorted(texts(memory)) == sorted(wanted)
        aside = [
            one
            for path in memory.conversations.drop_folder.path.glob("*.rejected")
            for one in path.read_text().splitlines()
        ]
        assert len(aside) == rejected
        raw = b"".join(path.read_bytes() for path in outside.vault.rglob("*.jsonl"))
        assert len(raw.splitlines()) == len(wanted)


def test_an_automated_turn_is_searchable_but_not_queued_for_learning(memory):
    drop(
        memory,
        line("kettle report", automated=True),
        line("the kettle sings"),
        line("bad", automated="yes"),
    )
    assert memory.conversations.take_dropped() == DropReport(2, 1)

    assert [
        (turn.text, turn.automated) for turn in memory.conversations.transcripts.of("user:alice")
    ] == [("kettle report", True), ("the kettle sings", False)]
    assert len(memory.search("kettle", scopes=["user:alice"], refresh=False).hits) == 2
    assert len(memory.end_session("s").waiting) == 1
