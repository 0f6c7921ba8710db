"""A program of the person's as a brain: one JSON object goes in on standard input, the answer comes on standard output.

It runs without a shell, in an empty folder, with the few variables that it was allowed, and is ended with all that it
started when its time is over or it says too much. In: ``role``, ``system``, ``text``, ``schema``, ``turn_ids``, and
``problem`` when its answer before could not be used. Out: the answer, in any form that `read_answer` understands.
"""

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from vault_memory.errors import BrainUnavailable
from vault_memory.models.base import Answer
from vault_memory.rules.learning.extraction import problem

if TYPE_CHECKING:
    from vault_memory.config.sections import Brain as Settings
    from vault_memory.rules.learning.model_prompt import Prompt

LARGEST = 4 << 20
"""Bytes of one answer"""
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


class CommandBrain:
    """One command, started for each prompt."""

    def __init__(self, settings: "Settings", environment: Mapping[str, str]) -> None:
        if not settings.command:
            raise BrainUnavailable(
                "`brain.command` is not set",
                hint="name the program and its arguments as a list",
            )
        self._command, self._timeout = list(settings.command), settings.timeout_seconds
        names = {*ALLOWED, *settings.environment}
        self._environment = {
            name: environment[name] for name in sorted(names) if name in environment
        }
        self.name = f"command {os.path.basename(self._command[0])}"

    def answer(self, prompt: "Prompt") -> Answer:
        text = self._run(prompt, "")
        wrong = problem(text, prompt.turn_ids)
        if not wrong:
            return Answer(text, "command", self.name)
        text = self._run(prompt, wrong)
        if still := problem(text, prompt.turn_ids, last=True):
            raise self._unavailable(
                f"its answer cannot be used, also when asked again: {still[:200]}"
            )
        return Answer(text, "repair", self.name)

    def _run(self, prompt: "Prompt", wrong: str) -> str:
        asked = {
            "role": prompt.role,
            "system": prompt.system,
            "text": prompt.text,
            "schema": prompt.schema(),
        }
        asked |= {"turn_ids": list(prompt.turn_ids), "problem": wrong}
        with tempfile.TemporaryDirectory(
            prefix="vault-memory-brain-", ignore_cleanup_errors=True
        ) as folder:
            return self._talk(json.dumps(asked).encode() + b"\n", folder)

    def _talk(self, asked: bytes, folder: str) -> str:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise self._unavailable(f"it cannot be started: {reason.lower()}") from None
        try:
            said, trouble = _converse(process, asked, self._timeout)
            ended = not trouble and _has_ended(process)
        finally:
            _end(process)
        if trouble == "late":
            raise self._unavailable(f"it took longer than {self._timeout:g} s")
        if trouble:
            raise self._unavailable(f"its answer is longer than {LARGEST >> 20} MB")
        if ended and process.returncode:
            raise self._unavailable(f"it ended with {process.returncode}")
        return said.decode("utf-8", "replace")

    def _unavailable(self, reason: str) -> BrainUnavailable:
        return BrainUnavailable(
            f"the command `{self._command[0]}`: {reason}",
            hint="run it by hand with a prompt",
        )


def _converse(
    process: "subprocess.Popen[bytes]", asked: bytes, seconds: float
) -> tuple[bytes, str]:
    """What it says until it closes its output, and what is wrong: ``late`` or ``long``.

    Both ends at once, so that neither waits for the other for ever.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    entry, exit_ = process.stdin.fileno(), process.stdout.fileno()
    deadline, said, rest = time.monotonic() + seconds, bytearray(), memoryview(asked)
    os.set_blocking(entry, False)
    with selectors.DefaultSelector() as ready:
        ready.register(entry, selectors.EVENT_WRITE)
        ready.register(exit_, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                if key.fd == entry:
                    rest = rest[_written(entry, rest) :]
                    if not rest:
                        ready.unregister(entry)
                        process.stdin.close()
                elif piece := os.read(exit_, 1 << 16):
                    said += piece
                    if len(said) > LARGEST:
                        return b"", "long"
                else:
                    return bytes(said), ""
    return b"", "late"


def _written(entry: int, rest: memoryview) -> int:
    """How much of it the program took; all, when it does not want to hear more."""
    try:
        return os.write(entry, rest[: 1 << 16])
    except BlockingIOError:
        return 0
    except OSError:
        return len(rest)


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether it ends by itself, soon after it said all; it stays unreaped, so that its group keeps its number."""
    for _ in range(100):
        if (
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            is not None
        ):
            return True
        time.sleep(0.01)
    return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process with all that it started; also what it left behind in the background."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
