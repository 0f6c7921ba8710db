"""A write that was cut off before its record is planned again: the file has its new text by then."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.learning.test_law_of_deleted_lines import open_vault
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.commands import ApplyOps
from vault_memory.edits.plans.edit_plan import plan_command

NOW = datetime(2026, 5, 27, 9, tzinfo=UTC)
NOTE = "memory/boats.md"
LINE = "the red boat"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    with open_vault(tmp_path, "laptop") as opened:
        yield opened


@pytest.mark.parametrize("line", [f"{LINE}, told", f"{LINE} and oars"])
def test_a_line_that_the_write_replaced_was_deleted_by_nobody(
    memory: VaultMemory, line: str
) -> None:
    memory.apply(NOTE, [{"op": "add_heading", "heading": "Boats", "lines": [LINE]}], now=NOW)
    editor = memory.edits.editor
    before = memory.read(NOTE).raw
    op = {"op": "replace", "heading": "Boats", "match": LINE, "line": line}
    command = editor.new_command(NOTE, "tool", NOW, ApplyOps((op,)))
    (memory.root / NOTE).write_bytes(before.replace(LINE.encode(), line.encode()))

    plan = plan_command(command, before, editor._recorder.inputs)

    assert plan.rejected == ()
    assert [done.outcome for done in plan.applied] == ["applied"]
