"""Nights fold what was found into the ledger, and purge what faded, if a person set a time."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from vault_memory import VaultMemory
from vault_memory.config.sections import Config, LifecycleSettings
from vault_memory.learning.night_deps import LifecycleDeps
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.search.item_reads import ItemReads

ANN = "user:ann"
LEDGER = "Users/ann/learning/counts.jsonl"
NOTE = "Users/ann/memories/2026-05-20.md"
EVENING = datetime(2026, 5, 25, 20, tzinfo=UTC)
NIGHT = datetime(2026, 5, 26, 3, 5, tzinfo=UTC)
TEA = "[event] Drank tea with Bo"


class Vault:
    """A vault in which a bot learned something, and its nights."""

    def __init__(self, folder: Path, **lifecycle: Any) -> None:
        self.root = folder / "vault"
        profile = self.root / "Users/ann/lantern/config/USER.md"
        profile.parent.mkdir(parents=True)
        profile.write_text("# Ann\n")
        self.memory = VaultMemory.open(
            self.root,
            config=Config(lifecycle=LifecycleSettings(**lifecycle)),
            environment={"VAULT_MEMORY_STATE": str(folder / "state")},
        )

    def learn(self, *lines: str, note: str = NOTE) -> None:
        file = self.root / note
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text("# Day\n\n## Learned\n\n- Mine\n")
        ops = [{"op": "append", "heading": "Learned", "line": line} for line in lines]
        self.memory.apply(note, ops, source="nightly", now=EVENING)

    def find(self, now: datetime = EVENING) -> Any:
        return self.memory.search("tea", scopes=[ANN], now=now)

    def sleep(self, now: datetime = NIGHT, **options: Any) -> Any:
        return self.memory.sleep(scopes=[ANN], now=now, **options)

    def ledger(self) -> list[dict[str, Any]]:
        file = self.root / LEDGER
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text().splitlines()]

    def reads(self) -> list[Any]:
        return ItemReads(self.memory.vault.state.path).reads()


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    with vault.memory:
        yield vault


def test_a_night_adds_what_was_found_to_the_ledger(vault):
    vault.learn(TEA)
    vault.find()
    vault.sleep()

    key = content_key(ANN, TEA)
    [record] = vault.ledger()
    assert record["reads"] == {key: [1, "2026-05-25"]}
    assert vault.reads() == []
    vault.find(NIGHT)
    vault.sleep(NIGHT + timedelta(days=1))
    assert vault.ledger()[-1]["reads"] == {key: [2, "2026-05-26"]}


def test_a_night_without_reads_leaves_the_ledger_alone(vault):
    vault.learn(TEA)
    vault.sleep()

    assert vault.ledger() == []


def test_a_dry_run_folds_nothing(vault):
    vault.learn(TEA)
    vault.find()

    vault.sleep(dry_run=True)

    assert vault.ledger() == []
    assert len(vault.reads()) == 1


def test_a_night_that_was_killed_counts_no_read_twice(vault, monkeypatch):
    vault.learn(TEA)
    vault.find()
    with monkeypatch.context() as patch:
        # Killed after the ledger was written, before the reads were removed.
        patch.setattr(ItemReads, "drop", lambda reads, folded: None)
        vault.sleep()
    assert len(vault.reads()) == 1

    vault.sleep(NIGHT + timedelta(days=1))

    counts = [record["reads"] for record in vault.ledger()]
    assert counts == [{content_key(ANN, TEA): [1, "2026-05-25"]}]
    assert vault.reads() == []


def test_a_night_folds_the_reads_of_groups_and_of_nobody_else(vault):
    note = "groups/crew/memory/2026-05-20.md"
    vault.learn(TEA, note=note)
    vault.learn(TEA, note="Users/bo/memories/2026-05-20.md")
    scopes = ["group:crew", "user:bo"]
    vault.memory.search("tea", scopes=scopes, now=EVENING)

    vault.sleep()

    assert (vault.root / "groups/crew/learning/counts.jsonl").exists()
    assert not (vault.root / "Users/bo/learning/counts.jsonl").exists()
    assert [read.scope for read in vault.reads()] == ["user:bo"]


def test_reads_of_the_day_rank_nothing_until_they_are_folded(vault):
    vault.learn(TEA)
    later = EVENING + timedelta(days=200)
    answer = vault.memory.search("tea", scopes=[ANN], now=later, archived=True)
    assert answer.hits[0].state == "archived"
    assert vault.find(later).left_out == {"archived": 1}

    vault.sleep(later)

    assert vault.find(later).left_out == {}
    vault.memory.index(rebuild=True, embed=False)
    assert vault.find(later).left_out == {}


# ---- purge ----------------------------------------------------------------------------

LATER = NIGHT + timedelta(days=200)


def test_nothing_is_removed_unless_a_person_set_a_time(vault):
    vault.learn("[ephemeral] The code is 4417")
    before = (vault.root / NOTE).read_bytes()

    vault.sleep(LATER)

    assert (vault.root / NOTE).read_bytes() == before


def test_undoing_a_purge_gives_back_the_bytes(tmp_path):
    vault = Vault(tmp_path, purge_days=90)
    with vault.memory:
        vault.learn("[ephemeral] The code is 4417", "[event] Drank tea")
        vault.learn("[ephemeral] The key is 9021 (2026-05-20, confirmed)")
        before = (vault.root / NOTE).read_bytes()
        vault.sleep(NIGHT + timedelta(days=60))
        assert (vault.root / NOTE).read_bytes() == before

        slept = vault.sleep(LATER)

        assert slept.scopes[0]["pruned"] == 1
        text = (vault.root / NOTE).read_text()
        assert "4417" not in text
        assert all(word in text for word in ("- Mine", "Drank tea", "9021"))
        record = vault.memory.edits.log(NOTE)[-1]
        assert record.source == "retention"
        assert "90 days" in record.why
        vault.memory.undo(record.id)
        assert (vault.root / NOTE).read_bytes() == before


def test_a_purge_waits_while_its_item_is_being_read(tmp_path):
    vault = Vault(tmp_path, purge_days=90)
    with vault.memory:
        vault.learn("[ephemeral] The tea code is 4417")
        vault.find(EVENING)
        vault.sleep(NIGHT)
        vault.find(EVENING + timedelta(days=4))
        before = (vault.root / NOTE).read_bytes()

        # Unread, it would go after 14 and 90 days: on the 1st of September.
        vault.sleep(datetime(2026, 9, 5, 3, 5, tzinfo=UTC))

        assert (vault.root / NOTE).read_bytes() == before
        vault.sleep(datetime(2026, 9, 20, 3, 5, tzinfo=UTC))
        assert "4417" not in (vault.root / NOTE).read_text()


def test_a_retired_note_is_still_retired_after_a_restart_of_its_command():
    # The journal names both commands by their source.
    from vault_memory.edits import commands

    retire = {"source": commands.RETENTION}
    purge = {"source": commands.RETENTION, "ops": [{"op": "remove"}]}

    assert commands._read_action(retire) == commands.RetireNote()
    assert commands._read_action(purge) == commands.ApplyOps(({"op": "remove"},))


def test_what_the_steps_need_comes_from_the_vault(vault):
    deps = LifecycleDeps.of_vault(vault.memory.vault)

    assert deps.settings == LifecycleSettings()
