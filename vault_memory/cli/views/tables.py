"""Tables with headers that fit a terminal: the last column wraps, or goes below the others."""

from collections.abc import Iterator, Sequence

from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import cells, padded, wrapped, wrapped_cells

GAP = "  "
LEAST_ROOM = 24
"""Columns that the last column needs beside the others; else it goes below them"""


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> str:
    """Return the rows under their headers, in lines of at most `columns`."""
    cells_of_rows = [[escaped(cell) for cell in row] for row in rows]
    widths = _widths(headers, cells_of_rows)
    # Fault: a last column of a few letters in each line cannot be read.
    before = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    is_narrow = columns - before < min(LEAST_ROOM, widths[-1])
    lay_out = _stacked if is_narrow else _in_columns
    head, *body = ([*headers], *cells_of_rows)
    lines = [styled(line, bold=True) for line in lay_out(head, widths, columns)]
    for row in body:
        lines += lay_out(row, widths, columns)
    return "\n".join(lines)


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cells, column)) for column in zip(headers, *rows, strict=True)]


def _in_columns(row: Sequence[str], widths: Sequence[int], columns: int) -> Iterator[str]:
    """Yield the lines of a row with its cells side by side."""
    start = ""
    for cell, width in zip(row[:-1], widths, strict=False):
        start += padded(cell, width) + GAP
    for line in wrapped(row[-1], columns, first=start):
        yield line.rstrip()


def _stacked(row: Sequence[str], widths: Sequence[int], columns: int) -> Iterator[str]:
    """Yield the lines of a row with its last cell below the others."""
    yield from wrapped_cells(row[:-1], columns)
    if row[-1]:
        yield from wrapped(row[-1], columns, first=GAP)
