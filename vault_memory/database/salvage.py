"""Copies the readable rows of a damaged database into an empty one with the same tables.

The number and types of its columns decide to which table a record belongs, because the schema
itself may be damaged. So no two tables of such a database may have columns of the same number and
types.
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

    def accepts(self, value: Value) -> bool:
        """Return whether the column can store a value."""
        if value is None:
            return self.may_be_null
        return isinstance(value, self.types)


@dataclass(frozen=True, slots=True)
class TableShape:
    """Storage shape of the records of one table."""

    table: str
    columns: tuple[_Column, ...]
    """In storage order"""
    has_rowid: bool

    def row(self, record: StoredRecord) -> dict[str, Value] | None:
        """Return the record as a row of this table by column; None when it does not fit."""
        if not self._has_columns_for(record):
            return None
        row: dict[str, Value] = {}
        for column, value in zip(self.columns, record.values, strict=False):
            if column.is_rowid and value is None:
                value = record.rowid
            if not column.accepts(value):
                return None
            row[column.name] = value
        return row

    def _has_columns_for(self, record: StoredRecord) -> bool:
        count = len(record.values)
        # A table that has row ids now may have had none in an earlier format.
        if (record.rowid is not None and not self.has_rowid) or count > len(self.columns):
            return False
        # Older rows lack a column that was added later; any other missing column means a
        # different table.
        return all(column.has_default for column in self.columns[count:])


def salvage(damaged: Path, target: Connection, checks: Mapping[str, Check]) -> dict[str, int]:
    """Copy the readable rows of a damaged file into `target`; return the row count of each table.

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
        # Fault (B39): a full disk must not leave half of the rows, which would look
        # like all of them.
        target.execute("ROLLBACK")
        raise
    return counts


def shapes_of(connection: Connection) -> Iterator[TableShape]:
    """Yield the shape of each table of a database."""
    tables: list[Any] = connection.execute(
        "SELECT name, wr FROM pragma_table_list "
        "WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    for table, without_rowid in tables:
        rows: list[Any] = connection.execute(
            'SELECT name, upper(type), "notnull", dflt_value IS NOT NULL, pk '
            "FROM pragma_table_xinfo(?) ORDER BY cid",
            (table,),
        ).fetchall()
        has_rowid = not without_rowid
        if not has_rowid:
            _move_key_first(rows)
        columns = tuple(_column(row, has_rowid=has_rowid) for row in rows)
        yield TableShape(table, columns, has_rowid)


def _move_key_first(rows: list[Any]) -> None:
    """Sort columns as a table without row ids stores them: its key before the others."""
    last = len(rows) + 1
    rows.sort(key=lambda row: row[4] or last)


def _column(row: Any, *, has_rowid: bool) -> _Column:
    name, kind, not_null, has_default, key = row
    # The key of a table without row ids is never null.
    is_required = not_null or (key and not has_rowid)
    return _Column(
        name,
        _TYPES[kind],
        may_be_null=not is_required,
        has_default=bool(has_default),
        is_rowid=bool(key) and kind == "INTEGER" and has_rowid,
    )


def _insert(target: Connection, table: str, row: Mapping[str, Value]) -> int:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    target.execute(
        # Fault (B45): a page of the file and its newer version in the log may both have
        # a row. A key is stored once.
        f'INSERT OR IGNORE INTO "{table}"({names}) VALUES ({marks})',
        tuple(row.values()),
    )
    return target.changes()


def _any(row: Mapping[str, Value]) -> bool:
    return True
