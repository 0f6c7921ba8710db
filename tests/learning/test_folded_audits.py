"""After `[retention] audit_days` a night folds old audit records. What was learned from them stays."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.index_dump import rows
from vault_memory import VaultMemory
from vault_memory.config.sections import Config, Retention
from vault_memory.edits.audit.audit_folding import fold_audit
from vault_memory.edits.calls import EditOptions
from vault_memory.rules.edits.audit_record import proposals_of
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate, supports
from vault_memory.rules.edits.undo import Folded

ANN = "user:ann"
NOTE = "Users/ann/memories/tea.md"
AUDIT = f"{NOTE}.audit.jsonl"
SPRING = datetime(2026, 3, 1, 12, tzinfo=UTC)
MAY = datetime(2026, 5, 25, 20, tzinfo=UTC)
NIGHT = datetime(2026, 5, 26, 3, 5, tzinfo=UTC)
TEXT = "# Tea\n\n## Learned\n\n- Mine\n- Also mine\n"


class Vault:
    """A vault whose notes have an audit of three months."""

    def __init__(self, folder: Path, audit_days: int = 30) -> None:
        self.root = folder / "vault"
        profile = self.root / "Users/ann/lantern/config/USER.md"
        profile.parent.mkdir(parents=True)
        profile.write_text("# Ann\n")
        self.memory = VaultMemory.open(
            self.root,
            config=Config(retention=Retention(audit_days=audit_days)),
            environment={"VAULT_MEMORY_STATE": str(folder / "state")},
        )
        self.file = self.root / NOTE
        self.file.parent.mkdir(parents=True)
        self.file.write_text(TEXT)
        old = SPRING.timestamp() - 9
        os.utime(self.file, (old, old))
        self.ids = [
            self.do("append", line="Drinks green tea (ref:t1)"),
            self.do("append", line="Owns a red pot"),
            self.do("append", line="Plans a trip"),
            self.do("replace", match="Plans a trip", line="Plans a trip to Oslo"),
            self.do("remove", match="Plans a trip to Oslo"),
            self.do("remove", match="Also mine", now=SPRING + timedelta(days=1)),
        ]
        twin = {"heading": "Learned", "line": "Drinks green tea", "twin": "k1"}
        skip = SkippedDuplicate(**twin, turn="t2")
        options = EditOptions(source="nightly", now=SPRING)
        self.memory.edits.record_duplicates(NOTE, [skip], options)
        self.ids.append(self.do("remove", source="cli", match="Owns a red pot"))
        self.young = self.do("append", line="Sails", now=MAY)

    def do(self, op: str, source: str = "nightly", now: datetime = SPRING, **fields: str) -> str:
        ops = [{"op": op, "heading": "Learned", **fields}]
        edit = self.memory.apply(NOTE, ops, source=source, now=now)
        return str(edit.audit_id)

    def sleep(self, **options: Any) -> Any:
        return self.memory.sleep(scopes=[ANN], now=NIGHT, **options)

    def lines(self) -> list[dict[str, Any]]:
        raw = (self.root / AUDIT).read_bytes()
        return [json.loads(line) for line in raw.splitlines()]

    def meaning(self) -> tuple[object, ...]:
        records = self.memory.log(NOTE)
        return replay(records), supports(records), proposals_of(records).keys()


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    yield made
    made.memory.close()


def test_a_night_folds_old_records_and_keeps_what_follows_from_them(vault: Vault) -> None:
    before, size = vault.meaning(), (vault.root / AUDIT).stat().st_size

    vault.sleep()

    assert vault.meaning() == before
    assert (vault.root / AUDIT).stat().st_size < size * 3 / 4
    assert b"Oslo" not in (vault.root / AUDIT).read_bytes()
    ids = {id_ for record in vault.lines() for id_ in record.get("folded", ())}
    assert ids >= set(vault.ids)
    assert vault.young not in ids
    assert all("folded" not in r for r in vault.lines() if r["id"] == vault.young)


def test_without_the_setting_no_record_is_folded(tmp_path: Path) -> None:
    vault = Vault(tmp_path, audit_days=0)
    before = vault.lines()
    vault.sleep()
    assert vault.lines() == before
    vault.memory.close()


def test_a_dry_run_folds_nothing(vault: Vault) -> None:
    before = vault.lines()
    vault.sleep(dry_run=True)
    assert vault.lines() == before


def test_after_the_fold_the_bot_still_may_not_touch_what_the_person_wrote(vault: Vault) -> None:
    vault.sleep()
    ops = [
        {"op": "remove", "heading": "Learned", "match": "Mine", "exact": True},
        {"op": "append", "heading": "Learned", "line": "Owns a red pot"},
        {"op": "remove", "heading": "Learned", "match": "Drinks green tea"},
    ]

    edit = vault.memory.apply(NOTE, ops, source="tool", now=NIGHT)

    assert [proposal.op["match"] for proposal in edit.proposed] == ["Mine"]
    assert [refusal.reason for refusal in edit.rejected] == ["deleted_by_person"]
    assert [applied.op["op"] for applied in edit.applied] == ["remove"]


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(6))
def test_a_folded_record_answers_folded_to_undo(vault: Vault, number: int) -> None:
    vault.sleep()
    text = vault.file.read_text()

    with pytest.raises(Folded) as refusal:
        vault.memory.undo(vault.ids[number])

    assert vault.ids[number] in refusal.value.message
    assert vault.file.read_text() == text


def test_a_younger_record_can_still_be_undone(vault: Vault) -> None:
    vault.sleep()
    vault.memory.undo(vault.young, now=NIGHT)
    assert "Sails" not in vault.file.read_text()


def test_log_history_doctor_source_and_the_past_go_on_working(vault: Vault) -> None:
    line = 1 + vault.file.read_text().split("\n").index("- Drinks green tea (ref:t1)")
    before = vault.memory.source(f"{NOTE}:{line}", scopes=[ANN])
    vault.sleep()

    after = vault.memory.source(f"{NOTE}:{line}", scopes=[ANN])
    assert after.record is not None
    assert before.record is not None
    assert after.record.id == before.record.id
    assert [turn.id for turn in after.turns] == [turn.id for turn in before.turns]
    assert vault.memory.log(NOTE)[-1].id == vault.young
    assert vault.memory.history(NOTE)
    assert vault.memory.edits.audit_gaps() == {}
    past = vault.memory.context(scopes=[ANN], prompt="oslo", as_of=SPRING.date(), now=NIGHT)
    assert "Oslo" not in past.text


@pytest.mark.sampled
def test_the_index_has_the_same_stamps_after_a_fold(vault: Vault) -> None:
    vault.memory.index()
    before = _stamps(vault)
    vault.sleep()
    vault.memory.index()
    assert _stamps(vault) == before != []


def _stamps(vault: Vault) -> list[tuple[object, ...]]:
    columns = "key, learned, by_bot, supports, fades"
    state = vault.memory.vault.state.path
    return rows(state, f"SELECT {columns} FROM stamp ORDER BY key")


@pytest.mark.sampled
def test_a_fold_that_is_killed_anywhere_loses_nothing(vault: Vault) -> None:
    editor = vault.memory.edits.editor
    before = vault.meaning()
    until = NIGHT - timedelta(days=30)
    raw = (vault.root / AUDIT).read_bytes()
    # The first fold of a process imports modules, which takes many calls.
    fold_audit(editor, NOTE, until, NIGHT)
    full = (vault.root / AUDIT).read_bytes()
    assert full != raw
    vault.memory.close()

    for last_call in (int(20 * 1.35**step) for step in range(40)):
        (vault.root / AUDIT).write_bytes(raw)
        child = os.fork()
        if child == 0:
            _fold_until(vault, last_call, until)
        _, status = os.waitpid(child, 0)
        assert (vault.root / AUDIT).read_bytes() in (raw, full), last_call
        if not os.WIFSIGNALED(status):
            break
    else:
        pytest.fail("no fold came to its end")

    vault.memory = VaultMemory.open(
        vault.root, environment={"VAULT_MEMORY_STATE": str(vault.root.parent / "state")}
    )
    assert vault.meaning() == before
    assert vault.memory.edits.audit_gaps() == {}


def _fold_until(vault: Vault, last_call: int, until: datetime) -> None:
    """Folds in this process, which is killed at its n-th call of a function."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1
        if calls >= last_call:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        state = {"VAULT_MEMORY_STATE": str(vault.root.parent / "state")}
        memory = VaultMemory.open(vault.root, environment=state)
        with memory.edits.transaction():
            editor = memory.edits.editor
            sys.setprofile(count)
            fold_audit(editor, NOTE, until, NIGHT)
        sys.setprofile(None)
    finally:
        os._exit(0)
