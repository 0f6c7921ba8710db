"""A plugin of pytest that writes which lines of one module the tests run.

`tools/mutants.py` uses it: `MUTANTS_MODULE` names the module, `MUTANTS_LINES` the file to write.
Lines that run in other processes, or when the module is imported, are not among them.
"""

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

MODULE_VARIABLE = "MUTANTS_MODULE"
FILE_VARIABLE = "MUTANTS_LINES"

_module = os.environ.get(MODULE_VARIABLE, "")
_lines: set[int] = set()


def _record_call(frame: FrameType, event: str, argument: object) -> Any:
    if frame.f_code.co_filename == _module and frame.f_code.co_name != "<module>":
        return _record_line
    return None


def _record_line(frame: FrameType, event: str, argument: object) -> Any:
    _lines.add(frame.f_lineno)
    return _record_line


def pytest_sessionstart() -> None:
    """Starts to watch all threads."""
    threading.settrace(_record_call)
    sys.settrace(_record_call)


def pytest_sessionfinish() -> None:
    """Writes the numbers of the lines."""
    sys.settrace(None)
    numbers = " ".join(map(str, sorted(_lines)))
    Path(os.environ[FILE_VARIABLE]).write_text(numbers, "ascii")
