"""`install --adopt` of a program that keeps its folder: its notes and those of the vault stay the same."""

from pathlib import Path

import pytest

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_adoption import hits
from tests.addons.hosts.test_hook import hook, output_for, payload
from tests.addons.hosts.test_installer import folder
from tests.scenarios.outside import Outside

SUMMARY = "v1\n\n## User Profile\n\n- rows a dinghy\n"
NOTES = "Users/mira/memories/codex"


@pytest.fixture
def memories(outside: Outside) -> Path:
    """What Codex wrote before the vault was there."""
    made = outside.home / ".codex" / "memories"
    (made / "rollout_summaries").mkdir(parents=True)
    (made / "memory_summary.md").write_text(SUMMARY)
    (made / "raw_memories.md").write_text("- raw\n")
    (made / "rollout_summaries" / "keel.md").write_text("- the keel is of larch\n")
    return made


def starts(outside: Outside, session: str = "s1", *options: str) -> str:
    """What Codex is given when a conversation starts."""
    event = payload("codex", "session-start", cwd=str(outside.home), session_id=session)
    return str(output_for(outside, "codex", event, *options))


@pytest.mark.smoke
def test_the_memory_of_codex_is_found_and_changes_go_both_ways(
    outside: Outside, install: Install, memories: Path
) -> None:
    said = outside.run("install", "codex", "--user", "mira", "--adopt")
    assert "codex features enable memories" in said.err
    assert hits(outside, "larch keel", "--user", "mira") == [f"{NOTES}/rollout_summaries/keel.md"]
    assert not (outside.vault / NOTES / "raw_memories.md").exists()
    summary = outside.vault / NOTES / "memory_summary.md"
    summary.write_text(SUMMARY + "- likes marzipan\n")
    (memories / "new.md").write_text("- the mast is of spruce\n")

    told = starts(outside)

    assert "marzipan" in told
    assert "dinghy" not in told
    assert (memories / "memory_summary.md").read_text() == SUMMARY + "- likes marzipan\n"
    assert hits(outside, "spruce mast", "--user", "mira") == [f"{NOTES}/new.md"]
    assert "marzipan" not in starts(outside, "s2")


def test_what_both_changed_is_merged(outside: Outside, install: Install, memories: Path) -> None:
    install("codex", "--adopt")
    summary = outside.vault / NOTES / "memory_summary.md"
    summary.write_text(SUMMARY + "- likes marzipan\n")
    theirs = memories / "memory_summary.md"
    theirs.write_text(SUMMARY.replace("a dinghy", "a heron boat"))

    starts(outside)

    assert summary.read_text() == theirs.read_text()
    assert "heron boat" in theirs.read_text()
    assert "marzipan" in theirs.read_text()
    assert "dinghy" not in theirs.read_text()


def test_a_note_that_the_person_deleted_is_gone_and_what_the_program_drops_stays(
    outside: Outside, install: Install, memories: Path
) -> None:
    (memories / "sail.md").write_text("- the sail is red\n")
    install("codex", "--adopt")
    (outside.vault / NOTES / "sail.md").unlink()
    (memories / "rollout_summaries" / "keel.md").unlink()

    starts(outside)
    starts(outside, "s2")

    assert not (memories / "sail.md").exists()
    assert not (memories / "rollout_summaries" / "keel.md").exists()
    assert hits(outside, "larch keel")


def test_a_daemon_exchanges_them_for_the_hook(
    outside: Outside, install: Install, memories: Path
) -> None:
    install("codex", "--adopt")
    with outside.daemon():
        (outside.vault / NOTES / "memory_summary.md").write_text(SUMMARY + "- likes marzipan\n")
        (memories / "new.md").write_text("- the mast is of spruce\n")

        assert "marzipan" in starts(outside)

        assert (outside.vault / NOTES / "new.md").exists()
    assert "marzipan" in (memories / "memory_summary.md").read_text()


def test_a_small_limit_still_has_the_lines_that_are_new(
    outside: Outside, install: Install, memories: Path
) -> None:
    install("codex", "--adopt")
    outside.settings["VAULT_MEMORY_MAX_MEMORY_CHARS"] = "100"
    (outside.vault / NOTES / "memory_summary.md").write_text(SUMMARY + "- likes marzipan\n" * 300)

    assert "marzipan" in starts(outside)


def test_a_long_profile_leaves_room_for_the_lines_that_are_new(
    outside: Outside, install: Install, memories: Path
) -> None:
    profile = "# Mira\n\n" + "".join(f"- has seen harbour {number}\n" for number in range(900))
    outside.write("Users/mira/wren/config/USER.md", profile)
    install("codex", "--adopt")
    (outside.vault / NOTES / "memory_summary.md").write_text(SUMMARY + "- likes marzipan\n")

    told = starts(outside)

    assert "marzipan" in told
    assert "harbour 3" in told
    assert len(told) < 10_000


def test_a_folder_that_is_away_empties_no_other(
    outside: Outside, install: Install, memories: Path
) -> None:
    install("codex", "--adopt")
    before = folder(memories)
    (outside.vault / NOTES).rename(outside.home / "away")

    event = payload("codex", "session-start", cwd=str(outside.home))
    assert "nothing was exchanged" in hook(outside, "codex", event).stderr

    assert folder(memories) == before


def test_in_a_room_and_for_another_person_nothing_is_exchanged(
    outside: Outside, install: Install, memories: Path
) -> None:
    install("codex", "--adopt")
    summary = outside.vault / NOTES / "memory_summary.md"
    summary.write_text(SUMMARY + "- likes marzipan\n")

    assert "marzipan" not in starts(outside, "s1", "--channel", "harbour")

    assert (memories / "memory_summary.md").read_text() == SUMMARY


def test_a_second_machine_keeps_the_notes_of_both(
    outside: Outside, install: Install, memories: Path
) -> None:
    note = outside.vault / NOTES / "memory_summary.md"
    note.parent.mkdir(parents=True)
    note.write_text("v1\n\n## User Profile\n\n- likes marzipan\n")

    install("codex", "--adopt")

    assert note.read_text() == (memories / "memory_summary.md").read_text()
    assert "marzipan" in note.read_text()
    assert "dinghy" in note.read_text()


def test_a_record_that_was_edited_costs_no_memory(
    outside: Outside, install: Install, memories: Path
) -> None:
    outside.write("Users/mira/wren/config/USER.md", "# Mira\n\n- has seen a harbour\n")
    install("codex", "--adopt")
    (outside.state / "adopted" / "codex.json").write_text('{"settings": 1}')

    event = payload("codex", "session-start", cwd=str(outside.home))
    done = hook(outside, "codex", event)

    assert "harbour" in done.stdout


def test_uninstall_ends_the_exchange(outside: Outside, install: Install, memories: Path) -> None:
    install("codex", "--adopt")
    before = folder(memories)
    said = outside.run("install", "codex", "--uninstall")
    assert "keep what they have" in said.err
    (outside.vault / NOTES / "memory_summary.md").write_text(SUMMARY + "- likes marzipan\n")

    starts(outside)

    assert folder(memories) == before


def test_a_dry_run_exchanges_nothing(outside: Outside, install: Install, memories: Path) -> None:
    outside.ok("index")
    before = folder(outside.vault), folder(outside.home)
    shown = install("codex", "--adopt", "--dry-run")
    assert str(outside.vault / NOTES / "memory_summary.md") in [
        file["path"] for file in shown["files"]
    ]
    assert (folder(outside.vault), folder(outside.home)) == before
