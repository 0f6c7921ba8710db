"""Telling people what the bot did to a note, in one line, on a channel of theirs: a webhook, or a command.

The line counts what was done and names the note's file; nothing of the note's text is in it. It is told after the
record was written, by a thread of its own: no edit waits for it, and none fails with it.
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
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vault_memory.lazy import lazy_module
from vault_memory.rules.edits.audit_record import Record, summary

if TYPE_CHECKING:
    from vault_memory.models import http_client
else:
    http_client = lazy_module("vault_memory.models.http_client")

logger = logging.getLogger(__name__)

MOST = 100
"""Lines that wait to be told; more are left out"""
CLOSING_SECONDS = 2.0
"""How long the end of the program waits for what is not told yet"""
PERSONAL = frozenset({"cli", "inbox", "undo", "forget"})
"""Sources of what a person did, who knows it"""
ANSWER_BYTES = 1 << 16


class NotTold(Exception):
    """A line could not be told; the text says why, without the address, which may hold a secret."""


class Announcer:
    """Tells each record of the bot's to the address, and to the command, that a person named."""

    def __init__(
        self,
        url: str = "",
        command: Sequence[str] = (),
        *,
        timeout: float = 10.0,
        most: int = MOST,
    ) -> None:
        self._ways: list[Callable[[str], None]] = []
        if url:
            self._ways.append(lambda line: _post(url, line, timeout))
        if command:
            self._ways.append(lambda line: _run(command, line, timeout))
        self._lines: queue.Queue[str | None] = queue.Queue(most)
        self._thread: threading.Thread | None = None
        self._silent: set[int] = set()
        """the ways that failed when last tried; each is complained about once"""
        self._full = False

    def tell(self, record: Record) -> None:
        """Have a record told, soon; returns at once."""
        is_news = record.before != record.after or any(
            one.state == "open" for one in record.proposed
        )
        if not self._ways or record.source in PERSONAL or not is_news:
            return
        try:
            self._lines.put_nowait(summary(record.note, record))
            self._full = False
        except queue.Full:
            if not self._full:
                logger.warning(
                    "more was done to notes than could be told; some of it is left out"
                )
            self._full = True
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="announce", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Wait a moment for what is not told yet."""
        if self._thread is not None:
            with suppress(queue.Full):
                self._lines.put(None, timeout=CLOSING_SECONDS)
            self._thread.join(CLOSING_SECONDS)
            self._thread = None

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            for number, way in enumerate(self._ways):
                try:
                    way(line)
                    self._silent.discard(number)
                except NotTold as error:
                    if number not in self._silent:
                        logger.warning(
                            "what was done to notes cannot be told: %s", error
                        )
                    self._silent.add(number)


def _post(url: str, line: str, timeout: float) -> None:
    """As most chat programs take it: ``{"text": line}``."""
    host = urlsplit(url).hostname or "the address"
    body = json.dumps({"text": line}).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with http_client.answer(
            "POST", url, headers=headers, body=body, timeout=timeout, deadline=timeout
        ) as response:
            http_client.read(response, ANSWER_BYTES)
            status = response.status
    except http_client.Unreachable as error:
        raise NotTold(f"{host}: {error}") from None
    if status >= 300:
        raise NotTold(f"{host} answers {status}")


def _run(command: Sequence[str], line: str, timeout: float) -> None:
    """The command gets the line on its standard input; what takes too long is ended with all that it started."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NotTold(
            f"`{command[0]}` cannot be started: {getattr(error, 'strerror', None) or error}"
        ) from None
    try:
        process.communicate(line.encode() + b"\n", timeout)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise NotTold(f"`{command[0]}` took longer than {timeout:g} s") from None
    if process.returncode:
        raise NotTold(f"`{command[0]}` ended with {process.returncode}")
