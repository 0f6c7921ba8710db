"""One table of a TOML file is changed or taken out, and every other byte of the file stays: comments, order, blanks."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from vault_memory.errors import ConfigError

_HEADER = re.compile(r"^\s*\[")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def with_table(text: str, table: str, values: Mapping[str, object]) -> str:
    """The text with these keys in the table, and its other keys as they were. Raises ConfigError."""
    lines = text.splitlines()
    start, end = _place(lines, table)
    fresh = {name: f"{name} = {_written(value)}" for name, value in values.items()}
    if start is None:
        gap = [""] if lines and lines[-1].strip() else []
        lines += [*gap, f"[{table}]", *fresh.values()]
    else:
        for number in range(start + 1, end):
            name = lines[number].partition("=")[0].strip()
            if name in fresh:
                lines[number] = fresh.pop(name)
        last = max(
            number
            for number in range(start, end)
            if lines[number].strip() or number == start
        )
        lines[last + 1 : last + 1] = fresh.values()
    return _sure(text, lines, table, _of(text).get(table, {}) | dict(values))


def without_table(text: str, table: str) -> str:
    """The text without the table; a comment right above the next table is that one's. Raises ConfigError."""
    lines = text.splitlines()
    start, end = _place(lines, table)
    if start is None:
        return text
    del lines[start:end]
    return _sure(text, lines, table, None)


def _place(lines: Sequence[str], table: str) -> tuple[int | None, int]:
    """The line of the table's header, and the line after its last; comments above the next table are that one's."""
    header = re.compile(rf"^\s*\[\s*{table}\s*\]\s*(#.*)?$")
    start = next(
        (number for number, line in enumerate(lines) if header.match(line)), None
    )
    if start is None:
        return None, len(lines)
    end = next(
        (
            number
            for number in range(start + 1, len(lines))
            if _HEADER.match(lines[number])
        ),
        len(lines),
    )
    while start + 1 < end < len(lines) and lines[end - 1].lstrip().startswith("#"):
        end -= 1
    return start, end


def _sure(before: str, lines: Sequence[str], table: str, wanted: object) -> str:
    """Nothing is written that does not say exactly what it should."""
    text = "\n".join(lines) + "\n" if lines else ""
    expected = {name: value for name, value in _of(before).items() if name != table}
    if wanted is not None:
        expected[table] = wanted
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        found = {}
    if found != expected:
        raise ConfigError(
            f"the table [{table}] of the configuration is written in a way that is not changed by program",
            hint="write it by hand: a plain table, one key on each line",
        )
    return text


def _of(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'
    return str(value)
