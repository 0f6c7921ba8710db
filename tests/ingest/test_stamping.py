"""The stamps of items and the counts of reads follow from files, however the index came about."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scenarios import index_dump
from vault_memory import VaultMemory
from vault_memory.rules.claims.equivalence import content_key

ANN = "user:ann"
NOTES = ("Users/ann/memories/2026-05-24.md", "Users/ann/memories/boat.md")
FACTS = "Users/ann/lantern/config/FACTS.md"
LEDGER = "Users/ann/learning/counts.jsonl"
NOW = datetime(2026, 5, 26, 2, tzinfo=UTC)
TEXTS = ("[plan] Sails on Friday", "[ephemeral] The code is 4417", "Likes tea")


class Vault:
    """A vault that a bot and a person change, and its index."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vault"
        for note in (*NOTES, FACTS, LEDGER):
            (self.root / note).parent.mkdir(parents=True, exist_ok=True)
        for note in NOTES:
            (self.root / note).write_text("# Note\n\n## Learned\n\n- Mine\n")
        (self.root / FACTS).write_text("# Facts\n")
        self.memory = VaultMemory.open(
            self.root, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
        )

    def learn(self, note: str, *lines: str) -> str:
        ops = [{"op": "append", "heading": "Learned", "line": line} for line in lines]
        edit = self.memory.apply(note, ops, source="nightly", now=NOW)
        return str(edit.audit_id)

    def count(self, device: str, text: str, days: int) -> None:
        record = {
            "ts": NOW.isoformat(),
            "device": device,
            "reads": {content_key(ANN, text): [days, "2026-05-20"]},
        }
        with (self.root / LEDGER).open("a") as stream:
            stream.write(json.dumps(record) + "\n")

    def indexed(self) -> dict[str, set[object]]:
        self.memory.search("tea", scopes=[ANN])
        return index_dump.fading(self.memory.vault.state.path)

    def rebuilt(self) -> dict[str, set[object]]:
        self.memory.index(rebuild=True, embed=False)
        return index_dump.fading(self.memory.vault.state.path)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    with vault.memory:
        yield vault


def test_what_the_bot_learned_gets_a_stamp_and_what_a_person_wrote_gets_none(vault):
    vault.learn(NOTES[0], TEXTS[0])

    [stamp] = vault.indexed()["stamps"]

    key = content_key(ANN, TEXTS[0])
    assert stamp == (NOTES[0], 6, ANN, key, "plan", "2026-05-24", 0, 1, 0, 1)


def test_an_item_that_a_person_changes_fades_no_more(vault):
    vault.learn(NOTES[0], TEXTS[0])
    vault.indexed()
    file = vault.root / NOTES[0]

    file.write_text(file.read_text().replace("Friday", "Saturday"))

    assert vault.indexed()["stamps"] == set()


def test_an_audit_that_arrives_after_its_note_is_heeded(vault):
    vault.learn(NOTES[0], TEXTS[0])
    audit = vault.root / f"{NOTES[0]}.audit.jsonl"
    raw = audit.read_bytes()
    audit.unlink()
    assert vault.indexed()["stamps"] == set()

    audit.with_name(f"{Path(NOTES[0]).name}.audit.other.jsonl").write_bytes(raw)

    assert len(vault.indexed()["stamps"]) == 1


def test_reads_of_all_devices_are_counted_and_those_of_others_are_not(vault):
    vault.count("d1", "Likes tea", 3)
    vault.count("d2", "Likes tea", 2)
    vault.count("d1", "Likes tea", 1)
    other = vault.root / "Users/bo/learning/counts.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes((vault.root / LEDGER).read_bytes())

    counts = vault.indexed()["counts"]

    key = content_key(ANN, "Likes tea")
    assert counts == {(ANN, key, 5, "2026-05-20"), ("user:bo", key, 5, "2026-05-20")}
    (vault.root / LEDGER).unlink()
    assert {row[0] for row in vault.indexed()["counts"]} == {"user:bo"}


def test_a_damaged_ledger_costs_only_its_bad_lines(vault):
    vault.count("d1", "Likes tea", 3)
    with (vault.root / LEDGER).open("a") as stream:
        stream.write('{"ts":"2026-05-26","device":"d1","reads":{"k":[-4,"x"]}}\n{"ts"')

    assert len(vault.indexed()["counts"]) == 1


steps = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.sampled_from(NOTES), st.sampled_from(TEXTS)),
        st.tuples(st.just("confirm"), st.sampled_from(NOTES), st.just("")),
        st.tuples(st.just("insert"), st.sampled_from(NOTES), st.just("")),
        st.tuples(st.just("undo"), st.just(""), st.just("")),
        st.tuples(st.just("delete"), st.sampled_from(NOTES), st.just("")),
        st.tuples(st.just("unaudit"), st.sampled_from(NOTES), st.just("")),
        st.tuples(st.just("count"), st.sampled_from(["d1", "d2"]), st.just(TEXTS[2])),
        st.tuples(st.just("look"), st.just(""), st.just("")),
    ),
    min_size=3,
    max_size=10,
)


@pytest.mark.sampled
@settings(max_examples=12)
@given(steps)
def test_an_index_updated_step_by_step_equals_a_rebuilt_one(tmp_path_factory, steps):
    vault = Vault(tmp_path_factory.mktemp("law"))
    with vault.memory:
        undoable: list[str] = []
        for number, (step, target, text) in enumerate(steps):
            file = vault.root / target
            match step:
                case "learn":
                    line = f"{text} {number % 3}"
                    undoable.append(vault.learn(target, line))
                case "confirm" if file.exists():
                    lines = file.read_text().rstrip("\n")
                    file.write_text(f"{lines} (2026-05-24, confirmed)\n")
                case "insert" if file.exists():
                    file.write_text("A first line.\n\n" + file.read_text())
                case "undo" if undoable:
                    vault.memory.undo(undoable.pop(), now=NOW)
                case "delete" if file.exists():
                    file.unlink()
                case "unaudit":
                    audit = vault.root / f"{target}.audit.jsonl"
                    audit.unlink(missing_ok=True)
                    undoable.clear()
                case "count":
                    vault.count(target, text, number)
                case _:
                    vault.indexed()

        assert vault.indexed() == vault.rebuilt()
