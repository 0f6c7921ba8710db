"""The review page on a warm vault: its calls, and then its views in the process that serves them."""

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import page_views, vaults
from benchmarks.cost import cpu_seconds, median_cpu
from benchmarks.place import Place
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory

NOTES = 10_000
RECORDS = 10_000
RECORDS_OF_A_NOTE = 10
SHOWN = 50
TIMES = 9
MOST_READ_MS = 30.0
MOST_UNDO_MS = 60.0
SETTLED_SECONDS = 0.35
"""After a write: the note of an undo was not saved just now"""
HEADING = "Harbour"


def rows(place: Place) -> Iterator[Row]:
    """The newest records, the inbox and an undo; then the views and buttons of the page."""
    vault = place.vault("page", NOTES)
    noted = [vaults.path(number, number % 12) for number in range(NOTES)]
    for note in noted[:: NOTES * RECORDS_OF_A_NOTE // RECORDS]:
        _write_audit(vault, note)
    note = noted[1]
    (vault / note).write_text(f"# Boats\n\n## {HEADING}\n\n- the ferry\n")
    with place.open(vault) as memory:
        cold = 1000 * cpu_seconds(memory.inbox)
        memory.index(embed=False)
        scopes = memory.scopes()
        shown = 1000 * median_cpu(lambda: memory.log(limit=SHOWN, scopes=scopes), TIMES)
        inbox = 1000 * median_cpu(lambda: memory.inbox(scopes), TIMES)
        undo = statistics.median(_undo(memory, note, scopes) for _ in range(TIMES))
    size = f"{NOTES:,} notes, {RECORDS:,} audit records, warm"
    floor = f"{cold:.0f} CPU ms when all records are parsed"
    yield _row(f"`log(limit={SHOWN})`, {size}", floor, shown, MOST_READ_MS)
    yield _row(f"`inbox()`, {size}", floor, inbox, MOST_READ_MS)
    yield _row(f"`undo`, {size}", floor, undo, MOST_UNDO_MS)
    yield from page_views.rows(place, vault, noted[2], size)


def _row(figure: str, floor: str, milliseconds: float, most: float) -> Row:
    return Row(
        figure,
        "–",
        floor,
        f"{milliseconds:.1f} CPU ms",
        f"≤ {most:.0f} CPU ms",
        milliseconds <= most,
    )


def _undo(memory: VaultMemory, note: str, scopes: Sequence[str]) -> float:
    line = f"a boat came at {time.time_ns()}"
    op = {"op": "append", "heading": HEADING, "line": line}
    edit = memory.apply(note, [op], source="cli")
    assert edit.audit_id is not None
    memory.inbox(scopes)
    time.sleep(SETTLED_SECONDS)
    record_id = edit.audit_id
    took = 1000 * cpu_seconds(lambda: memory.undo(record_id, scopes=scopes))
    time.sleep(SETTLED_SECONDS)
    return took


def _write_audit(vault: Path, note: str) -> None:
    """Writes the audit of a note to which a bot added a line on each of several nights."""
    lines = []
    for night in range(1, RECORDS_OF_A_NOTE + 1):
        line = f"- a boat came in night {night}"
        op = {"op": "append", "heading": HEADING, "line": line}
        record = {
            "id": f"{night:04}-{note}",
            "ts": f"2026-01-{night:02}T03:00:00+00:00",
            "user_id": "",
            "source": "nightly",
            "note": note,
            "applied": [{"op": op, "outcome": "applied"}],
            "rejected": [],
            "before": f"{night:064}",
            "after": f"{night + 1:064}",
            "diff": f"--- {note}\n+++ {note}\n@@ -3,0 +4,1 @@\n+{line}\n",
            "why": "it was told in the evening",
        }
        lines.append(json.dumps(record) + "\n")
    (vault / f"{note}.audit.jsonl").write_text("".join(lines))
