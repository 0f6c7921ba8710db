"""Notifies people of the bot's edits, one line for each, by a webhook or a command.

The line counts the changes and names the note's file. It contains nothing of the note's text. A thread of its own sends
it after the audit record was written, so that no edit waits for a notification or fails with it.
"""

import json
import logging
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from vault_memory.models import http_client
from vault_memory.rules.edits.audit_record import Record, summary

logger = logging.getLogger(__name__)

MOST_WAITING = 100
"""Lines that wait to be sent; more are dropped"""
CLOSING_SECONDS = 2.0
"""How long the end of the program waits for unsent lines"""
PERSONAL = frozenset({"cli", "inbox", "undo", "forget"})
"""Sources of edits by a person, who need not be notified"""
ANSWER_BYTES = 1 << 16


class NotTold(Exception):
    """A notification failed. The text says why, without the address, which may contain a secret."""


class Announcer:
    """Sends each record of the bot's to the address, and to the command, of the configuration."""

    def __init__(
        self,
        url: str = "",
        command: Sequence[str] = (),
        *,
        timeout: float = 10.0,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._senders: list[Callable[[str], None]] = []
        if url:
            self._senders.append(lambda line: _post(url, line, timeout))
        if command:
            self._senders.append(lambda line: _run(command, line, timeout))
        self._lines: queue.Queue[str | None] = queue.Queue(most_waiting)
        self._thread: threading.Thread | None = None
        self._failing: set[int] = set()
        """indexes of the senders that failed last; each failure is logged once"""
        self._is_full = False

    def tell(self, record: Record) -> None:
        """Sends the line of a record soon; returns at once."""
        if not self._senders or record.source in PERSONAL or not _is_news(record):
            return
        try:
            # Fault: a webhook that hangs would stop every edit. Lines beyond the queue
            # are dropped.
            self._lines.put_nowait(summary(record.note, record))
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
            for index, send in enumerate(self._senders):
                try:
                    send(line)
                    self._failing.discard(index)
                except NotTold as error:
                    if index not in self._failing:
                        logger.warning("cannot send notifications of edits: %s", error)
                    self._failing.add(index)


def _is_news(record: Record) -> bool:
    if record.before != record.after:
        return True
    return any(proposal.state == "open" for proposal in record.proposed)


def _post(url: str, line: str, timeout: float) -> None:
    """Posts ``{"text": line}``, which most chat programs take."""
    host = urlsplit(url).hostname or "the address"
    body = json.dumps({"text": line}).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with http_client.answer(
            "POST", url, headers=headers, body=body, timeout=timeout, deadline=timeout
        ) as response:
            # Fault: the address may answer without end.
            http_client.read(response, ANSWER_BYTES)
            status = response.status
    except http_client.Unreachable as error:
        raise NotTold(f"{host}: {error}") from None
    if status >= 300:
        raise NotTold(f"{host} answers {status}")


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
