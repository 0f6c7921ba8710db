"""The turns of a daemon for documents: each looks whether there is something to read, and lets it be.

They have a lane of their own, one for all vaults of a process. A turn only waits: a process of low
priority reads, and writes the index.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache

from vault_memory.addons.documents import document_index, pdf_reader, reading_process
from vault_memory.addons.documents.document_index import DocumentIndex, Source
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.logs import Logger
from vault_memory.search.open_vault import OpenVault
from vault_memory.service.turn_lane import NEVER, TurnLane
from vault_memory.vault.reader import Folder

logger = Logger(__name__)

PROCESS = "vault_memory.addons.documents.reading_process"
LOOK_SECONDS = 15.0
"""Time between two looks. No event reports a document, and a host closes a vault in between"""
MOST_PAUSES = 4
"""With so many open vaults, or more, each is looked at after so many of these pauses"""
RETRY_SECONDS = 60.0
"""Pause after a process that failed"""


@cache
def lane() -> TurnLane:
    """Returns the lane of this process."""
    # Fault: a host would read for each of a thousand vaults at once, and fill the memory.
    own = TurnLane("documents", 1)
    own.start()
    return own


_open_turns: "set[ReadingTurns]" = set()


def look_seconds() -> float:
    """Returns the time between two looks at a vault."""
    return LOOK_SECONDS * min(max(1, len(_open_turns)), MOST_PAUSES)


class ReadingTurns:
    """The turns of one vault. Any thread may take one, one at a time, and any may `close` them."""

    def __init__(self, vault: OpenVault, tell: Callable[[str], None]) -> None:
        """Each turn in which documents were read is reported as a line."""
        source = Source.of(vault)
        self._order = reading_process.Order(
            str(vault.root), source.vault, vault.config.layout, source.rules, str(source.state)
        )
        # The folder of the vault belongs to another thread.
        self._documents = DocumentIndex(source._replace(folder=Folder(vault.root)))
        self._tell = tell
        self._lock = threading.Lock()
        """Guards the next two fields"""
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        _open_turns.add(self)

    def reading_turn(self) -> float:
        """Takes a turn. Returns the seconds until the next. It does not raise."""
        try:
            if not self._has_news():
                return look_seconds()
            return self._read()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            self._documents.recover(error)
            logger.warning("documents: %s", error)
            return RETRY_SECONDS

    def close(self) -> None:
        """Ends the process that reads, with its worker."""
        _open_turns.discard(self)
        with self._lock:
            self._is_closed = True
            process = self._process
            if process is not None:
                # What it was reading is read again after the next start.
                os.killpg(process.pid, signal.SIGKILL)
        if process is not None:
            process.wait()

    def _has_news(self) -> bool:
        with self._documents.opened() as index:
            if self._documents.changes(index):
                return True
            return bool(index and pdf_reader.is_installed() and document_index.waiting(index))

    def _read(self) -> float:
        """Lets a process read. Returns the seconds until the next turn."""
        process = self._start()
        if process is None:
            return NEVER
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(self._order, process.stdin)
            process.stdin.flush()
            answer = process.stdout.read()
        finally:
            self._end(process)
        outcome = json.loads(answer or "{}")
        if "read" not in outcome:
            return RETRY_SECONDS
        if outcome["read"]:
            self._tell(f"read {outcome['read']:,} documents")
        # Where nothing could be read, another turn at once would do no better.
        return 0.0 if outcome["read"] and outcome["left"] else look_seconds()

    def _start(self) -> "subprocess.Popen[bytes] | None":
        """Starts the process; returns None when the turns are closed."""
        with self._lock:
            if self._is_closed:
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROCESS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0,
            )
            return self._process

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._process = None
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        with process:
            process.wait()
