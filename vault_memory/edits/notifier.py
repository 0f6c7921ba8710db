"""Notifies people of the bot's edits, one line for each, by a command.

The line counts the changes and names the note's file. It contains nothing of the note's text. A
thread of its own sends it after the audit record was written, so that no edit waits for a
notification or fails with it.
"""

import logging
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress

from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.record_sentences import news_of

logger = logging.getLogger(__name__)

MOST_WAITING = 100
"""Lines that wait to be sent; more are dropped"""
CLOSING_SECONDS = 2.0
"""How long the end of the program waits for unsent lines"""
PERSONAL = frozenset({"cli", "inbox", "undo", "forget"})
"""Sources of edits by a person, who need not be notified"""


class NotTold(Exception):
    """A notification failed. The text says why, without the arguments, which may contain a secret."""


class Announcer:
    """Sends a line about each record of the bot's to the command of the configuration."""

    def __init__(
        self,
        command: Sequence[str] = (),
        *,
        timeout: float = 10.0,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._command = command
        self._timeout = timeout
        self._lines: queue.Queue[str | None] = queue.Queue(most_waiting)
        self._thread: threading.Thread | None = None
        self._is_failing = False
        """whether the last line was not sent; a failure is logged once"""
        self._is_full = False

    def tell(self, record: Record) -> None:
        """Sends the line of a record soon; returns at once."""
        if not self._command or record.source in PERSONAL or not _is_news(record):
            return
        try:
            # Fault: a command that hangs would stop every edit. Lines beyond the queue
            # are dropped.
            self._lines.put_nowait(news_of(record))
            self._is_full = False
        except queue.Full:
            if not self._is_full:
                logger.warning(
                    "notifications of edits are dropped: they come faster than they can be sent"
                )
            self._is_full = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="announce", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Waits a moment for unsent lines."""
        if self._thread is not None:
            # Fault: a full queue must not keep the program from its end.
            with suppress(queue.Full):
                self._lines.put(None, timeout=CLOSING_SECONDS)
            self._thread.join(CLOSING_SECONDS)
            self._thread = None

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                _run(self._command, line, self._timeout)
                self._is_failing = False
            except NotTold as error:
                if not self._is_failing:
                    logger.warning("cannot send notifications of edits: %s", error)
                self._is_failing = True


def _is_news(record: Record) -> bool:
    if record.before != record.after:
        return True
    return any(proposal.state == "open" for proposal in record.proposed)


def _run(command: Sequence[str], line: str, timeout: float) -> None:
    """Runs the command with the line on its standard input. Kills it, with its children, when it takes too long."""
    program = command[0]
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotTold(f"`{program}` cannot be started: {reason}") from None
    try:
        process.communicate(line.encode() + b"\n", timeout)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            # Fault: a shell script may have started another program, which would go on
            # without it.
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise NotTold(f"`{program}` took longer than {timeout:g} s") from None
    if process.returncode:
        raise NotTold(f"`{program}` ended with {process.returncode}")
