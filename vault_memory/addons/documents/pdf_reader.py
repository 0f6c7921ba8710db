"""Lets a worker process read a PDF, and kills it when it takes too long."""

import importlib.util
import json
import subprocess
import sys
from threading import Timer
from typing import IO, NamedTuple

from vault_memory.addons.documents.pdf_worker import PdfLimits

WORKER = "vault_memory.addons.documents.pdf_worker"
LIMITS = PdfLimits()
PATIENCE = 5
"""How many times its CPU time a worker may take while others use the processors"""


class PdfText(NamedTuple):
    """What was read of a PDF."""

    pages: tuple[str, ...] = ()
    failure: str = ""
    """Why some of it, or all, was not read"""


def is_installed() -> bool:
    """Whether the library that reads PDFs is there: the extra `documents` brings it."""
    return importlib.util.find_spec("pypdf") is not None


def read_pdf(stream: IO[bytes], limits: PdfLimits) -> PdfText:
    """Reads an open file. A failure is part of the result."""
    with subprocess.Popen(
        [sys.executable, "-m", WORKER, *map(str, limits)],
        stdin=stream,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as worker:
        # Fault: a worker that waits for a disk uses no CPU time, so the system does not end it.
        timer = Timer(PATIENCE * limits.seconds, worker.kill)
        timer.daemon = True
        timer.start()
        try:
            assert worker.stdout is not None
            answer = _answer(worker.stdout)
        finally:
            timer.cancel()
            worker.kill()
    if answer is not None:
        return answer
    # Pages of a file that ended its worker are dropped: how many there are depends on the machine.
    return PdfText((), f"it takes more than {limits.seconds} s, or too much memory, to read")


def _answer(lines: IO[bytes]) -> PdfText | None:
    """Returns what the worker says; None when it ended before its last line."""
    pages: list[str] = []
    for line in lines:
        try:
            answer = json.loads(line)
        except ValueError:
            return None
        # Only the last line has it.
        if "failure" in answer:
            return PdfText(tuple(pages[: answer["pages"]]), answer["failure"])
        pages.append(answer["text"])
    return None
