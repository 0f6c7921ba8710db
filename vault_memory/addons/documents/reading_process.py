"""The process in which a daemon lets documents be read, so that no save waits for it.

It brings the index of the documents of one vault up to date, for some seconds, and ends. It has
the lowest priority, and ends at once with the daemon: what it was reading is read again.
"""

import json
import os
import pickle
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from vault_memory.addons.documents import document_index, pdf_reader
from vault_memory.addons.documents.document_index import DocumentIndex, Source
from vault_memory.config.sections import LayoutSettings
from vault_memory.config.state_file import LockTaken
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.logs import Logger
from vault_memory.search.vault_layout import layout_of
from vault_memory.vault.reader import Folder

logger = Logger(__name__)

SECONDS = 20.0
"""How long one process reads before others may have their turn"""


class Order(NamedTuple):
    """The vault whose documents are read, as one process describes it to another."""

    root: str
    vault: str
    layout: LayoutSettings
    rules: str
    state: str

    def source(self) -> Source:
        """Opens the folder."""
        layout = layout_of(self.layout)
        return Source(Folder(self.root), self.vault, layout, self.rules, Path(self.state))


def read(order: Order) -> tuple[int, int]:
    """Brings the index up to date. Returns how many texts were read, and how many are left."""
    documents = DocumentIndex(order.source())
    until = time.monotonic() + SECONDS
    with documents.updating(patience=0) as index:
        documents.put_names(index, documents.changes(index))
        if not pdf_reader.is_installed():
            return 0, 0
        return documents.read_texts(index, until=until), len(document_index.waiting(index))


def _end_with_daemon() -> None:
    """Ends this process and its worker when the daemon has ended, in any way."""
    # Only the daemon has the other end of the pipe, and writes nothing more to it.
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Reads the order from standard input, and writes the result as a line of JSON."""
    with suppress(OSError):
        os.nice(19)
    # Safe to unpickle: only our own process has the other end.
    order: Order = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_daemon, daemon=True).start()
    outcome = {}
    try:
        outcome["read"], outcome["left"] = read(order)
    except LockTaken:
        logger.info("another process reads the documents")
    except (VaultMemoryError, DatabaseError, OSError) as error:
        logger.warning("documents: %s", error)
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
