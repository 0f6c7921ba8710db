"""Reads the text of one PDF, which is its standard input, and writes a line of JSON for each page.

A hostile file may need any time and memory. So each has a process of its own, with limits of the
system, and nothing that it answers but text is believed.
"""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pypdf

ENCRYPTED = "it is encrypted"
DAMAGED = "it is damaged"
TOO_MUCH_MEMORY = "it takes too much memory to read"


class PdfLimits(NamedTuple):
    """What one PDF may take."""

    seconds: int = 120
    """Of CPU time"""
    memory: int = 1 << 30
    """In bytes, with the interpreter. macOS does not hold a process to it"""
    pages: int = 2_000
    letters: int = 8 << 20

    def apply(self) -> None:
        """Lets the system hold this process to the limits."""
        import resource

        # Fault: a soft limit sends a signal that a program may ignore; at the hard one it is killed.
        resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))


def read(stream: IO[bytes], limits: PdfLimits, tell: Callable[[dict[str, object]], None]) -> None:
    """Passes on the text of each page, then how many count, and what is wrong with the file."""
    import pypdf

    reader = pypdf.PdfReader(stream)
    # A file that only forbids printing opens without a password.
    if reader.is_encrypted and not reader.decrypt(""):
        tell({"pages": 0, "failure": ENCRYPTED})
        return
    count = len(reader.pages)
    left, unread = limits.letters, 0
    failure = f"only its first {limits.pages:,} pages are read" if count > limits.pages else ""
    for number in range(min(count, limits.pages)):
        text = _text_of(reader, number)
        unread += text is None
        tell({"text": (text or "")[:left]})
        left -= len(text or "")
        if left < 0:
            failure = f"only its first {limits.letters:,} letters are read"
            break
    if unread and not failure:
        failure = f"{DAMAGED}: {unread} of {count} pages cannot be read"
    tell({"pages": count, "failure": failure})


def _text_of(reader: "pypdf.PdfReader", number: int) -> str | None:
    """Returns the text of a page, counted from 0; None for one that cannot be read."""
    try:
        text: str = reader.pages[number].extract_text()
        return text
    except MemoryError:
        raise
    except Exception:
        # Fault: one broken page must not hide all others.
        return None


def main(arguments: list[str]) -> None:
    """Answers for the PDF on standard input. The arguments are the limits."""
    limits = PdfLimits(*map(int, arguments))
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    # Fault: a library that prints would write between the answers.
    os.dup2(2, 1)
    os.nice(19)
    limits.apply()

    def tell(answer: dict[str, object]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        with open(0, "rb", closefd=False) as stream:
            read(stream, limits, tell)
    except MemoryError:
        tell({"pages": 0, "failure": TOO_MUCH_MEMORY})
    except Exception as error:
        # An encryption that needs a further package has an error of its own.
        needs_package = type(error).__name__ == "DependencyError"
        tell({"pages": 0, "failure": ENCRYPTED if needs_package else DAMAGED})


if __name__ == "__main__":
    main(sys.argv[1:])
