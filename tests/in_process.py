"""Runs a command of the command line in this process."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from vault_memory import cli


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    stdout: str
    stderr: str
    code: int


def run(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Done:
    """Runs a command to its end."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    printed = capsys.readouterr()
    return Done(printed.out, printed.err, int(ended.value.code or 0))
