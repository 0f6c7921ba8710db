"""Copies the readable rows of a damaged database into an empty one with the same tables.

The number and types of its columns decide to which table a record belongs, because the schema itself may be
damaged. So no two tables of such a database may have columns of the same number and types.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vault_memory.database.connection import Connection
from vault_memory.database.page_reader import StoredRecord, Value, read_records

Check = Callable[[Mapping[str, Value]], bool]
"""Returns whether a row, by column, is one that the program could have written"""

_TYPES: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (int, float),
    "BLOB": (bytes,),
}


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    types: tuple[type, ...]
    may_be_null: bool
    has_default: bool
    is_rowid: bool


@dataclass(frozen=True, slots=True)
class TableShape:
    """Storage shape of the records of one table."""

    table: str
    columns: tuple[_Column, ...]
    """In storage order"""
    has_rowid: bool

    def row(self, record: StoredRecord) -> dict[str, Value] | None:
        """Return the record as a row of this table by column; None when it does not fit."""
        missing = self.columns[len(record.values) :]
        if (record.rowid is None) == self.has_rowid or len(record.values) > len(
            self.columns
        ):
            return None
        if not all(column.has_default for column in missing):
            # Older rows lack a column that was added later; any other missing column means a different table.
            return None
        row: dict[str, Value] = {}
        for column, value in zip(self.columns, record.values, strict=False):
            if column.is_rowid and value is None:
                value = record.rowid
            if not (
                isinstance(value, column.types)
                or (value is None and column.may_be_null)
            ):
                return None
            row[column.name] = value
        return row


def salvage(
    damaged: Path, target: Connection, checks: Mapping[str, Check]
) -> dict[str, int]:
    """Copy the readable rows of the file `damaged` into `target`; return the row count of each table.

    Rows that the check of their table rejects are omitted.
    """
    shapes = list(shapes_of(target))
    counts = {shape.table: 0 for shape in shapes}
    target.execute("BEGIN IMMEDIATE")
    try:
        for record in read_records(damaged):
            for shape in shapes:
                row = shape.row(record)
                if row is not None and checks.get(shape.table, _any)(row):
                    counts[shape.table] += _insert(target, shape.table, row)
        target.execute("COMMIT")
    except BaseException:
        target.execute("ROLLBACK")
        raise
    return counts


def shapes_of(connection: Connection) -> Iterator[TableShape]:
    """Yield the shape of each table of a database."""
    tables: list[Any] = connection.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    for table, without_rowid in tables:
        rows: list[Any] = connection.execute(
            'SELECT name, upper(type), "notnull", dflt_value IS NOT NULL, pk FROM pragma_table_xinfo(?) ORDER BY cid',
            (table,),
        ).fetchall()
        # A table without row ids stores its key before the other columns.
        if without_rowid:
            rows.sort(key=lambda row: row[4] or len(rows) + 1)
        columns = tuple(
            _Column(
                name,
                _TYPES[kind],
                may_be_null=not (not_null or (key and without_rowid)),
                has_default=bool(has_default),
                is_rowid=bool(key and kind == "INTEGER" and not without_rowid),
            )
            for name, kind, not_null, has_default, key in rows
        )
        yield TableShape(table, columns, not without_rowid)


def _insert(target: Connection, table: str, row: Mapping[str, Value]) -> int:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    target.execute(
        f'INSERT OR IGNORE INTO "{table}"({names}) VALUES ({marks})',
        tuple(row.values()),
    )
    return target.changes()


def _any(row: Mapping[str, Value]) -> bool:
    return True
