"""`context(as_of=…)`: what the bot knew on an earlier day, and what nobody can know any more."""

import os
from datetime import UTC, date, datetime, timedelta

import pytest

from vault_memory import VaultMemory, config
from vault_memory.context.past import past_notes
from vault_memory.errors import UsageError

MAY = datetime(2026, 5, 10, 12, tzinfo=UTC)
NOW = MAY + timedelta(days=20)
ANN, BO = "user:ann", "user:bo"
USER = "Users/ann/bot/config/USER.md"
FACTS = "Users/ann/bot/config/FACTS.md"
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "vault").mkdir()
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(tmp_path / "vault", OFF, environment=environment) as vault:
        yield vault


def save(memory, path, text, day):
    """A person saves a note at noon of a day, and the daemon sees it."""
    note = memory.root / path
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(text)
    seconds = (MAY + timedelta(days=day)).timestamp()
    os.utime(note, (seconds, seconds))
    snapshots = memory.edits.editor.writer.snapshots
    snapshots.record(path, text.encode(), at=seconds)


def then(memory, day, prompt="", *, scopes=(ANN,), now=NOW, **options):
    past = (MAY + timedelta(days=day)).date()
    return memory.context(prompt, scopes=list(scopes), as_of=past, now=now, **options)


def test_a_note_says_what_it_said_at_the_end_of_that_day(memory):
    save(memory, USER, "# Ann\n\n- lives in Oslo\n", 0)
    save(memory, USER, "# Ann\n\n- lives in Bergen\n", 5)
    save(memory, USER, "# Ann\n\n- lives in Tromsø\n", 10)

    assert "Oslo" in then(memory, 0).text
    assert "Oslo" in then(memory, 4).text
    assert "Bergen" in then(memory, 5).text
    assert "Bergen" not in then(memory, 10).text
    assert "Tromsø" in memory.context(scopes=[ANN], now=NOW).text
    assert then(memory, 4).cut == ()


def test_lines_that_answer_are_found_in_the_notes_of_that_day(memory):
    note = "Users/ann/memories/boat.md"
    save(memory, note, "# Boat\n\n- The mooring is berth seven\n", 0)
    save(memory, note, "# Boat\n\n- The mooring is berth twelve\n", 6)

    early = then(memory, 1, "which berth is the mooring?")
    late = then(memory, 7, "which berth is the mooring?")

    assert "berth seven" in early.text
    assert "berth twelve" not in early.text
    assert "berth twelve" in late.text


def test_later_notes_turns_and_days_are_left_out(memory):
    save(memory, USER, "# Ann\n\n- tall\n", 0)
    save(memory, "Users/ann/memories/plan.md", "# Plan\n\n- Sail to Faroe\n", 8)
    for day, text in ((1, "The kettle is blue"), (9, "The kettle is green")):
        memory.record_turn(
            session="s", role="user", user="ann", text=text, now=MAY + timedelta(days=day)
        )

    block = then(memory, 3, "the kettle, and sailing to Faroe")

    assert "blue" in block.text
    assert "green" not in block.text
    assert "Faroe" not in block.text.replace("sailing to Faroe", "")


def test_edits_of_the_bot_are_taken_back_where_no_version_is_kept(memory):
    for day, home in ((0, "Oslo"), (5, "Bergen")):
        memory.add_fact(
            "ann", "lives_in", home, scope=ANN, source="tool", now=MAY + timedelta(days=day)
        )
    snapshots = memory.edits.editor.writer.snapshots
    much_later = MAY + timedelta(days=400)
    snapshots.prune(much_later.timestamp())

    block = then(memory, 2, now=much_later)

    assert "Oslo" in block.text
    assert "Bergen" not in block.text


def test_what_is_unknown_is_named(memory):
    save(memory, USER, "# Ann\n\n- lives in Oslo\n", 0)
    save(memory, USER, "# Ann\n\n- lives in Bergen\n", 5)
    much_later = MAY + timedelta(days=400)
    memory.edits.editor.writer.snapshots.prune(much_later.timestamp())

    block = then(memory, 2, now=much_later)

    assert "Bergen" not in block.text
    [cut] = block.cut
    assert cut.kind == "user"
    assert past_notes.UNKNOWN in cut.reason


def test_a_note_that_was_deleted_since_is_named(memory):
    save(memory, USER, "# Ann\n\n- lives in Oslo\n", 0)
    (memory.root / USER).unlink()

    block = then(memory, 2)

    assert "Oslo" not in block.text
    assert [cut.kind for cut in block.cut] == ["user"]


@pytest.mark.sampled
def test_forgotten_text_stays_forgotten(memory):
    save(memory, USER, "# Ann\n\n- the code is marzipan\n- tall\n", 0)
    memory.add_fact("ann", "likes", "marzipan", scope=ANN, source="tool", now=MAY)
    save(memory, USER, "# Ann\n\n- tall\n", 5)
    assert "marzipan" in then(memory, 2).text

    memory.forget("marzipan", now=NOW)

    for day in range(8):
        for now in (NOW, MAY + timedelta(days=400)):
            block = then(memory, day, "marzipan", now=now)
            remarks = " ".join(cut.reason for cut in block.cut)
            assert "marzipan" not in (block.text + remarks)


def test_the_past_of_another_person_stays_closed(memory):
    save(memory, USER, "# Ann\n\n- lives in Oslo\n", 0)
    save(memory, "Users/bo/bot/config/USER.md", "# Bo\n\n- lives in Rome\n", 0)
    memory.record_turn(session="s", role="user", user="bo", text="Rome is warm", now=MAY)

    block = then(memory, 3, "is Rome warm?", scopes=[ANN])

    assert "lives in Rome" not in block.text
    assert "Rome is warm" not in block.text
    assert "lives in Rome" in then(memory, 3, scopes=[BO]).text


def test_nothing_remains_of_the_rebuilt_notes(memory):
    save(memory, USER, "# Ann\n\n- lives in Oslo\n", 0)
    before = memory.context(scopes=[ANN], now=NOW).text

    then(memory, 3, "Oslo")

    assert not list(memory.vault.state.path.glob("as-of-*"))
    assert memory.context(scopes=[ANN], now=NOW).text == before


def test_a_future_day_is_refused(memory):
    with pytest.raises(UsageError):
        memory.context(scopes=[ANN], as_of=date(2027, 1, 1), now=NOW)


def test_the_block_of_a_past_day_says_that_its_notes_are_searched_by_words(tmp_path):
    """The configuration has search by meaning on, so it is no reason."""
    (tmp_path / "vault").mkdir()
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(tmp_path / "vault", environment=environment) as memory:
        save(memory, USER, "# Ann\n\n- lives in Oslo\n", 0)

        freshness = then(memory, 2, "Where does she live?").freshness

    assert freshness.semantic == "off"
    assert "past day" in freshness.reason
    assert "by words" in freshness.reason
    assert "configuration" not in freshness.reason
