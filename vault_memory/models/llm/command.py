"""Runs a program of the user as a brain: one JSON object on its input, the answer on its output.

The program runs without a shell, in an empty folder, with the allowed environment variables only.
It is killed with its children when it exceeds its time or the size of an answer.
Input: ``role``, ``system``, ``text``, ``schema``, ``turn_ids``, and ``problem``, which says why the
previous answer was unusable. Output: the answer in any form that `read_answer` understands.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from vault_memory.errors import BrainUnavailable
from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.model_access import Meter, estimated_call, unmetered
from vault_memory.models.llm.phrase_tables import begins_with_yes
from vault_memory.rules.learning.extraction import problem

if TYPE_CHECKING:
    from vault_memory.config.sections import BrainSettings as Settings
    from vault_memory.models.llm.labels import LabelQuestion
    from vault_memory.rules.learning.model_prompt import Prompt

LARGEST = 4 << 20
"""Bytes of one answer"""
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


class CommandBrain:
    """Starts one command for each prompt."""

    def __init__(
        self, settings: "Settings", environment: Mapping[str, str], *, meter: Meter = unmetered
    ) -> None:
        if not settings.command:
            raise BrainUnavailable(
                "`brain.command` is not set", hint="set it to a list: the program and its arguments"
            )
        self._command = list(settings.command)
        self._timeout = settings.timeout_seconds
        self._meter = meter
        names = {*ALLOWED, *settings.environment}
        self._environment = {
            name: environment[name] for name in sorted(names) if name in environment
        }
        self.name = f"command {os.path.basename(self._command[0])}"

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        text = self._run(prompt, "")
        reason_unusable = problem(text, prompt.turn_ids)
        if not reason_unusable:
            return BrainAnswer(text, "command", self.name)
        text = self._run(prompt, reason_unusable)
        if second_problem := problem(text, prompt.turn_ids, last=True):
            raise self._unavailable(
                f"its answer is unusable, also after a repair request: {second_problem[:200]}"
            )
        return BrainAnswer(text, "repair", self.name)

    def probability_of_yes(self, question: "LabelQuestion", text: str) -> float:
        """Ask the program for one word: 0 or 1."""
        return float(begins_with_yes(self._label(question, text)))

    def chosen_word(self, question: "LabelQuestion", text: str) -> str:
        """Ask for one of the words of a question; "" for any other answer."""
        return question.word_in(self._label(question, text))

    def _label(self, question: "LabelQuestion", text: str) -> str:
        examples = "".join(f"\n\n{example}\n{word}" for example, word in question.examples)
        output = self._run_request(
            {
                "role": "label",
                "system": question.text + examples,
                "text": text,
                "schema": {"type": "string", "enum": list(question.words)},
                "turn_ids": [],
                "problem": "",
            }
        )
        return output.strip("\"' \n")

    def _run(self, prompt: "Prompt", reason_unusable: str) -> str:
        return self._run_request(
            {
                "role": prompt.role,
                "system": prompt.system,
                "text": prompt.text,
                "schema": prompt.schema(),
                "turn_ids": list(prompt.turn_ids),
                "problem": reason_unusable,
            }
        )

    def _run_request(self, request: Mapping[str, object]) -> str:
        with tempfile.TemporaryDirectory(
            prefix="vault-memory-brain-", ignore_cleanup_errors=True
        ) as folder:
            answer = self._run_process(json.dumps(request).encode() + b"\n", folder)
        question = f"{request['system']}{request['text']}"
        self._meter(estimated_call(question, answer))
        return answer

    def _run_process(self, request: bytes, folder: str) -> str:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A program that writes many warnings would block on a full pipe.
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=self._environment,
                # A group of its own, so that its children can be killed with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise self._unavailable(f"it cannot be started: {reason.lower()}") from None
        try:
            output, failure = _exchange(process, request, self._timeout)
            ended = not failure and _has_ended(process)
        finally:
            _end(process)
        if failure == "late":
            raise self._unavailable(f"it took longer than {self._timeout:g} s")
        if failure:
            raise self._unavailable(f"its answer is longer than {LARGEST >> 20} MB")
        if ended and process.returncode:
            raise self._unavailable(f"it ended with {process.returncode}")
        return output.decode("utf-8", "replace")

    def _unavailable(self, reason: str) -> BrainUnavailable:
        return BrainUnavailable(
            f"the command `{self._command[0]}`: {reason}",
            hint="run it by hand with a prompt to see its errors",
        )


def _exchange(
    process: "subprocess.Popen[bytes]", request: bytes, seconds: float
) -> tuple[bytes, str]:
    """Return the output until the program closes it, and the failure: "", ``late`` or ``long``.

    Writes and reads alternate: a program that answers before it has read everything would block
    on a full pipe, and so would this process.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    input_fd, output_fd = process.stdin.fileno(), process.stdout.fileno()
    deadline = time.monotonic() + seconds
    output = bytearray()
    remaining = memoryview(request)
    os.set_blocking(input_fd, False)
    with selectors.DefaultSelector() as ready:
        ready.register(input_fd, selectors.EVENT_WRITE)
        ready.register(output_fd, selectors.EVENT_READ)
        while (seconds_left := deadline - time.monotonic()) > 0:
            for key, _ in ready.select(seconds_left):
                if key.fd == input_fd:
                    remaining = remaining[_written(input_fd, remaining) :]
                    if not remaining:
                        ready.unregister(input_fd)
                        process.stdin.close()
                elif block := os.read(output_fd, 1 << 16):
                    output += block
                    if len(output) > LARGEST:
                        return b"", "long"
                else:
                    return bytes(output), ""
    return b"", "late"


def _written(input_fd: int, remaining: memoryview) -> int:
    """Return the number of bytes written; all of them when the program closed its input."""
    try:
        return os.write(input_fd, remaining[: 1 << 16])
    except BlockingIOError:
        return 0
    except OSError:
        # A program may answer without reading all of its input.
        return len(remaining)


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether the program exits within a second after it closed its output."""
    for _ in range(100):
        if _is_over(process):
            return True
        time.sleep(0.01)
    return False


def _is_over(process: "subprocess.Popen[bytes]") -> bool:
    # Python offers `waitid` on macOS from 3.13 on. Without it the process is reaped.
    if sys.platform == "darwin":
        return process.poll() is not None
    # Fault: the number of a reaped process could pass to a foreign process group before
    # the kill.
    options = os.WEXITED | os.WNOWAIT | os.WNOHANG
    return os.waitid(os.P_PID, process.pid, options) is not None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process and its children, including those in the background."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
