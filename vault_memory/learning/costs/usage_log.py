"""The tokens that this device spent, by scope and month: `usage.jsonl` in the state folder.

Each call of a model is a line. Losing the file costs the count and nothing else.
"""

import json
import logging
import os
from collections import defaultdict
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from vault_memory.config import state_file
from vault_memory.models.llm.token_count import CallTokens

logger = logging.getLogger(__name__)

NAME = "usage.jsonl"
LARGEST = 256 << 10
"""Bytes from which on the lines of a scope and month become one line"""


class Usage(NamedTuple):
    """Tokens of several calls."""

    read: int = 0
    written: int = 0
    calls: int = 0
    estimated: int = 0
    """calls whose server does not name their tokens"""

    def plus(self, other: "Usage") -> "Usage":
        """Returns the sum."""
        return Usage(*(own + added for own, added in zip(self, other, strict=True)))

    @property
    def total(self) -> int:
        """Tokens in both directions."""
        return self.read + self.written


class UsageLog:
    """The tokens spent by one device on one vault."""

    def __init__(self, state: Path) -> None:
        self._file = state / NAME

    def add(self, scope: str, moment: datetime, tokens: CallTokens) -> None:
        """Adds one call. A failure is logged: the answer of the model must not be lost."""
        usage = Usage(tokens.read, tokens.written, 1, int(tokens.is_estimated))
        line = _line(f"{moment:%Y-%m}", scope, usage)
        try:
            with self._file.open("ab") as file:
                # A crash may have torn the last line.
                file.write(b"\n" + line if self._is_torn() else line)
        except OSError as error:
            logger.warning("the tokens of a call cannot be counted: %s", error)

    def of_month(self, moment: datetime) -> dict[str, Usage]:
        """Returns what each scope spent in the month of a moment."""
        month = f"{moment:%Y-%m}"
        return {
            scope: usage
            for (line_month, scope), usage in self._sums().items()
            if line_month == month
        }

    def fold(self) -> None:
        """Makes one line of those of a scope and month when the file is large."""
        with suppress(OSError):
            if self._file.stat().st_size < LARGEST:
                return
            lines = (_line(*key, usage) for key, usage in self._sums().items())
            state_file.write(self._file, b"".join(lines).decode())

    def _is_torn(self) -> bool:
        with suppress(OSError), self._file.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
        return False

    def _sums(self) -> dict[tuple[str, str], Usage]:
        sums: dict[tuple[str, str], Usage] = defaultdict(Usage)
        for month, scope, usage in self._entries():
            sums[month, scope] = sums[month, scope].plus(usage)
        return dict(sums)

    def _entries(self) -> list[tuple[str, str, Usage]]:
        try:
            raw = self._file.read_bytes()
        except OSError:
            return []
        entries = (_entry(line) for line in raw.split(b"\n"))
        return [entry for entry in entries if entry is not None]


def _line(month: str, scope: str, usage: Usage) -> bytes:
    record = {
        "month": month,
        "scope": scope,
        "in": usage.read,
        "out": usage.written,
        "calls": usage.calls,
        "estimated": usage.estimated,
    }
    return json.dumps(record).encode() + b"\n"


def _entry(line: bytes) -> tuple[str, str, Usage] | None:
    """Returns month, scope and tokens of a line; None for a torn or damaged one."""
    try:
        record = json.loads(line)
        counts = [record[name] for name in ("in", "out", "calls", "estimated")]
        month, scope = record["month"], record["scope"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    # Fault: a damaged line with a negative number would raise the limit of the month.
    if not all(map(_is_count, counts)):
        return None
    if not isinstance(month, str) or not isinstance(scope, str):
        return None
    return month, scope, Usage(*counts)


def _is_count(value: Any) -> bool:
    # Fault: in Python, `true` is a number as well.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
