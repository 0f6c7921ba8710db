"""Changes one table of a TOML file. All other bytes of the file stay: comments, order, blanks."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from vault_memory.errors import ConfigError

_HEADER = re.compile(r"^\s*\[")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def with_table(text: str, table: str, values: Mapping[str, object]) -> str:
    """Return the text with these keys in the table; its other keys stay. Raises ConfigError."""
    lines = _split_lines(text)
    start, end = _find_table(lines, table)
    line_end = _carriage_return(text)
    assignments = {name: f"{name} = {_toml(value)}{line_end}" for name, value in values.items()}
    if start is None:
        if lines and lines[-1].strip():
            lines.append(line_end)
        lines.append(f"[{table}]{line_end}")
        lines += assignments.values()
    else:
        _set_keys(lines, start, end, assignments)
    expected = tomllib.loads(text).get(table, {}) | dict(values)
    return _verified(text, lines, table, expected)


def without_table(text: str, table: str) -> str:
    """Return the text without the table. Raises ConfigError."""
    lines = _split_lines(text)
    start, end = _find_table(lines, table)
    if start is None:
        return text
    del lines[start:end]
    return _verified(text, lines, table, None)


def _split_lines(text: str) -> list[str]:
    """Return the lines, each with the ``\\r`` that it may end with."""
    # Fault: for `str.splitlines`, rare characters within a comment end a line.
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    # A new line may follow the last one, which has no line end yet.
    lines[-1] += _carriage_return(text)
    return lines


def _carriage_return(text: str) -> str:
    """Return what a line of this file has before its ``\\n``."""
    return "\r" if "\r\n" in text else ""


def _set_keys(lines: list[str], start: int, end: int, assignments: Mapping[str, str]) -> None:
    """Replace the lines of keys that the table has, and add the others at its end."""
    remaining = dict(assignments)
    last = start
    for index in range(start, end):
        name = lines[index].partition("=")[0].strip()
        if index > start and name in remaining:
            lines[index] = remaining.pop(name).rstrip("\r") + _comment_of(lines[index])
        if lines[index].strip():
            last = index
    lines[last + 1 : last + 1] = remaining.values()


def _comment_of(line: str) -> str:
    """Return the comment at the end of an assignment, with the line end and the blanks before it."""
    end = "\r" if line.endswith("\r") else ""
    starts = [match.start() for match in re.finditer(r"(?<!\s)\s*+#", line)]
    for start in starts:
        # Fault: a `#` within quotes begins no comment, and what is before it is no TOML.
        if _parsed(line[:start]):
            return line[start:]
    return end


def _find_table(lines: Sequence[str], table: str) -> tuple[int | None, int]:
    """Return the index of the header of a table, and the index after its last line.

    The index of the header is None without such a table.
    """
    header = re.compile(rf"^\s*\[\s*{table}\s*\]\s*(#.*)?$")
    start = _first_match(header, lines, 0)
    if start == len(lines):
        return None, start
    end = _first_match(_HEADER, lines, start + 1)
    # Comments directly above the next table belong to that table.
    if end < len(lines):
        while end > start + 1 and _is_comment(lines[end - 1]):
            end -= 1
    return start, end


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _first_match(pattern: re.Pattern[str], lines: Sequence[str], start: int) -> int:
    """Return the index of the first line that matches; the number of lines if none does."""
    for index in range(start, len(lines)):
        if pattern.match(lines[index]):
            return index
    return len(lines)


def _verified(before: str, lines: Sequence[str], table: str, values: object) -> str:
    """Return the new text. Raises ConfigError unless it means exactly what it should."""
    text = "\n".join(lines) + "\n" if lines else ""
    expected = tomllib.loads(before)
    expected.pop(table, None)
    if values is not None:
        expected[table] = values
    # Fault: multi-line strings and dotted keys can look like lines of a plain table. A
    # person's settings must not be lost.
    if _parsed(text) != expected:
        raise ConfigError(
            f"the table [{table}] of the configuration cannot be changed by a program",
            hint="change it by hand, or write it as a plain table with one key on each line",
        )
    return text


def _parsed(text: str) -> dict[str, Any]:
    """Parse a text; empty if it is not valid TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        # The edit broke the file: the comparison notices it, and nothing is written.
        return {}


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'
    return str(value)
