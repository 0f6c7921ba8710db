"""Audit records, versions and notes on a terminal: short times, wrapped lines, tables."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vault_memory.cli import edit_rendering
from vault_memory.cli.rendering import outcomes_of, remarks_of
from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import Screen, wrapped, wrapped_cells
from vault_memory.cli.views.tables import table
from vault_memory.cli.views.times import time_text

if TYPE_CHECKING:
    from vault_memory.edits.versions import NoteVersion
    from vault_memory.rules.edits.audit_record import Record

LETTERS_OF_ID = 12
"""Letters of a revision on a terminal; its beginning is enough for `restore`"""
GAP = "  "


def records_view(records: "Sequence[Record]", screen: Screen) -> str:
    """Return audit records: who changed a note, when, why and how."""
    blocks = ["\n".join(_record_lines(record, screen)) for record in records]
    return "\n\n".join(blocks) or "nothing was changed yet"


def _record_lines(record: "Record", screen: Screen) -> Iterator[str]:
    moment = time_text(record.ts, screen)
    head = (record.id, moment, f"by {record.source}", record.note)
    for line in wrapped_cells(map(escaped, head), screen.columns):
        yield styled(line, bold=True)
    for text in (*remarks_of(record), *outcomes_of(record)):
        yield from wrapped(escaped(text), screen.prose, indent=GAP)
    if record.diff:
        yield from _diff_lines(record.diff.decode("utf-8", "replace"), screen)


def _diff_lines(diff: str, screen: Screen) -> Iterator[str]:
    """Yield the lines of a diff in colours; those that continue a long line hang below it."""
    plain = edit_rendering.diff_text(diff, lambda text, colour: text)
    # The empty lines around a change at the end say nothing: a record ends with one.
    for line in plain.rstrip().split("\n"):
        colour = edit_rendering.COLOURS.get(line[:1])
        sign = escaped(line[:1])
        rows = wrapped(escaped(line[1:]), screen.columns, first=sign, indent=GAP)
        if colour:
            rows = [styled(row, fg=colour) for row in rows]
        yield from rows


def versions_table(versions: "Sequence[NoteVersion]", screen: Screen) -> str:
    """Return the stored versions of a note, newest first."""
    rows = [
        (
            version.revision[:LETTERS_OF_ID],
            time_text(version.ts, screen),
            version.by,
            f"{version.bytes:,} bytes",
        )
        for version in versions
    ]
    return table(("REVISION", "WHEN", "BY", "SIZE"), rows, screen.columns)
