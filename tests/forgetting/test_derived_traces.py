"""Nothing that was derived from a forgotten text confirms a guess of it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vault_memory import VaultMemory
from vault_memory.learning.checkpoint import CheckpointStore, LastCycle
from vault_memory.rules.claims.equivalence import content_key

ANN = "user:ann"
DEV = "channel:dev"
NOTE = "Users/ann/memories/2026-05-20.md"
LEDGER = "Users/ann/learning/counts.jsonl"
EVENING = datetime(2026, 5, 25, 20, tzinfo=UTC)
NIGHT = datetime(2026, 5, 26, 3, 5, tzinfo=UTC)
SECRET = "Drank zirbenschnaps with Bo"
OTHER = "Drank tea with Bo"


class Vault:
    """A vault in which items were read."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vault"
        self.state = folder / "state"
        for note, text in {
            "Users/ann/lantern/config/USER.md": "# Ann\n",
            NOTE: "# Day\n\n## Learned\n\n- Mine\n",
        }.items():
            file = self.root / note
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.memory = VaultMemory.open(
            self.root, environment={"VAULT_MEMORY_STATE": str(self.state)}
        )
        ops = [
            {"op": "append", "heading": "Learned", "line": f"[event] {text}"}
            for text in (SECRET, OTHER)
        ]
        self.memory.apply(NOTE, ops, source="nightly", now=EVENING)

    def read_and_sleep(self) -> None:
        self.read()
        self.memory.sleep(scopes=[ANN], now=NIGHT)

    def read(self, now: datetime = EVENING) -> None:
        for query in ("zirbenschnaps", "tea"):
            assert self.memory.search(query, scopes=[ANN], now=now).hits

    def files_with(self, text: str) -> list[str]:
        files = [*self.root.rglob("*"), *self.state.rglob("*")]
        return [
            file.name for file in files if file.is_file() and text.encode() in file.read_bytes()
        ]

    def ledger(self) -> set[str]:
        raw = (self.root / LEDGER).read_text()
        return {key for line in raw.splitlines() for key in json.loads(line)["reads"]}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    yield made
    made.memory.close()


@pytest.mark.sampled
@pytest.mark.parametrize("scopes", [None, [ANN]])
def test_the_count_of_a_forgotten_item_is_forgotten(vault: Vault, scopes: list[str] | None) -> None:
    key = content_key(ANN, SECRET)
    vault.read_and_sleep()
    assert key in vault.ledger()

    vault.memory.forget("zirbenschnaps", scopes=scopes, now=NIGHT)

    assert vault.files_with(key) == []
    assert vault.ledger() == {content_key(ANN, OTHER)}


def test_a_read_of_today_is_forgotten_with_its_item(vault: Vault) -> None:
    key = content_key(ANN, SECRET)
    vault.read()
    assert vault.files_with(key)

    vault.memory.forget("zirbenschnaps", scopes=None, now=EVENING)

    assert vault.files_with(key) == []
    assert vault.files_with(content_key(ANN, OTHER))


def test_what_a_model_was_asked_is_forgotten_with_its_item(vault: Vault) -> None:
    keys = [content_key(ANN, text) for text in (SECRET, OTHER)]
    CheckpointStore(vault.memory.vault.state.path).add_keys(ANN, "entities", keys)

    vault.memory.forget("zirbenschnaps", scopes=None, now=EVENING)

    assert CheckpointStore(vault.memory.vault.state.path).keys(ANN, "entities") == {keys[1]}


@pytest.mark.sampled
def test_the_count_of_an_item_that_is_only_in_an_old_version_is_forgotten(vault: Vault) -> None:
    vault.read_and_sleep()
    ops = [{"op": "remove", "heading": "Learned", "match": SECRET}]
    vault.memory.apply(NOTE, ops, source="cli", now=NIGHT)

    vault.memory.forget("zirbenschnaps", scopes=None, now=NIGHT)

    assert vault.files_with(content_key(ANN, SECRET)) == []


def test_the_last_report_of_a_channel_forgets_a_name_and_nothing_else(vault: Vault) -> None:
    store = CheckpointStore(vault.memory.vault.state.path)
    report = LastCycle(
        DEV,
        "2026-05-25",
        since="2026-05-01T00:00:00+00:00",
        serial=7,
        speakers=["ann", "zora"],
        outcome={"personal": [{"ref": "t1", "reason": "zora's"}], "memories": 2},
        by_day={"2026-05-25": {"lines": ["zora sails", "bo rows"]}},
    )
    store.save(DEV, report)
    store.report("2026-05-25", "# Night\n\nchannel dev: 2 lines\nzora spoke\n")
    store.log_removal({"path": "Users/zora/memories/2026-05-01.md"})

    forgotten = vault.memory.forget("zora", scopes=None, now=NIGHT)

    assert vault.files_with("zora") == []
    assert [place.place for place in forgotten.remaining] == []
    last = store.last(DEV)
    assert (last.serial, last.since, last.speakers) == (7, report.since, ["ann"])
    assert last.outcome == {"personal": [{"ref": "t1", "reason": ""}], "memories": 2}
    assert last.by_day == {"2026-05-25": {"lines": ["bo rows"]}}


def test_a_dry_run_names_the_report_and_changes_nothing(vault: Vault) -> None:
    store = CheckpointStore(vault.memory.vault.state.path)
    store.save(DEV, LastCycle(DEV, speakers=["zora"]))

    forgotten = vault.memory.forget("zora", scopes=None, now=NIGHT, dry_run=True)

    assert any("last.json" in place.place for place in forgotten.removed)
    assert store.last(DEV).speakers == ["zora"]
