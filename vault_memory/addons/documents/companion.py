"""What the core asks of an add-on that keeps an index beside that of the notes."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from vault_memory.addons.documents import (
    FOLDER,
    KIND,
    SUFFIXES,
    document_index,
    found_documents,
    pdf_reader,
    reading_turns,
)
from vault_memory.config import state_file
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.index import index_erase
from vault_memory.logs import Logger
from vault_memory.search.open_vault import OpenVault

if TYPE_CHECKING:
    from vault_memory.addons.documents.document_index import DocumentIndex
    from vault_memory.index.store import Index
    from vault_memory.ingest.lifecycle import Progress
    from vault_memory.rules.forgetting.matcher import TextMatcher
    from vault_memory.search.calls import SearchQuery
    from vault_memory.search.freshness import SearchAnswer
    from vault_memory.service.turn_lane import TurnLane

logger = Logger(__name__)

HELD = "the text of this document contains it; delete or edit the file, and run `forget` again"
IN_STATE = "state: documents"
LOOK_SECONDS = 5.0
"""Pause between two looks for new documents by the searches of a process"""
BUSY = "it is damaged, or another process reads it; run `forget` again"


def join(vault: OpenVault, query: "SearchQuery", answer: "SearchAnswer") -> "SearchAnswer":
    """Returns the answer of the notes with what documents answer. It does not raise."""
    if not _may_find_documents(query):
        return answer
    # The texts are read by `index` and by the daemon, which looks for names, too.
    looks = not _has_daemon(vault) and _is_due(vault)
    documents = _documents(vault, looks=looks)
    if documents is None:
        return answer
    # Fault: trouble with documents must not keep the notes from answering.
    with _tolerant(documents):
        if looks:
            _look(documents, patience=0)
        index = _kept_open(vault, documents)
        return answer if index is None else found_documents.joined(index, query, answer)
    return answer


_next_looks: "WeakKeyDictionary[OpenVault, float]" = WeakKeyDictionary()
"""By open vault, when a search looks for new documents again"""
_open_indexes: "WeakKeyDictionary[OpenVault, tuple[tuple[int, int], Index]]" = WeakKeyDictionary()
"""By open vault, the index that its searches use, and which generation it is"""


def _kept_open(vault: OpenVault, documents: "DocumentIndex") -> "Index | None":
    """Returns the index, which stays open as long as the vault is, and it is the current one."""
    # Fault: the last one who closes a database writes its log into it. An answer would wait for
    # the disk each time.
    generation, index = _open_indexes.get(vault, ((0, 0), None))
    if index is None or generation != documents.generation:
        _open_indexes.pop(vault, None)
        generation, index = documents.generation, documents.open()
        if index is not None:
            _open_indexes[vault] = generation, index
    return index


def update(
    vault: OpenVault, paths: Sequence[str], rebuild: bool, progress: "Progress | None"
) -> None:
    """Brings the documents up to date, with their texts. PDFs at `paths` are read again."""
    documents = _documents(vault, looks=True)
    if documents is None:
        return
    # Fault: after damage here, the caller would build the index of the notes again.
    with _tolerant(documents):
        if rebuild:
            documents.rebuild()
        _look(documents, patience=None)
        with documents.updating(patience=None) as index:
            documents.try_again(index, paths)
            if pdf_reader.is_installed():
                documents.read_texts(index, progress=progress)


@contextmanager
def _tolerant(documents: "DocumentIndex") -> Iterator[None]:
    """Logs trouble with documents, and sets a damaged index aside."""
    try:
        yield
    except (VaultMemoryError, DatabaseError, OSError) as error:
        documents.recover(error)
        logger.warning("documents: %s", error)


def turns(
    vault: OpenVault, closing: ExitStack, tell: Callable[[str], None]
) -> "Iterator[tuple[TurnLane, Callable[[], float]]]":
    """Yields the turns of a daemon, which end when `closing` does."""
    reading = reading_turns.ReadingTurns(vault, tell)
    closing.callback(reading.close)
    yield reading_turns.lane(), reading.reading_turn


def forget(
    vault: OpenVault, matcher: "TextMatcher", scopes: Collection[str] | None
) -> dict[str, str]:
    """Erases what is left of deleted documents. Returns the documents with the text, and why."""
    documents = _documents(vault, looks=False)
    if documents is None:
        return {}
    remaining = {IN_STATE: BUSY}
    with _tolerant(documents):
        _look(documents, patience=None)
        with documents.updating(patience=None) as index:
            holding = index_erase.notes_holding(index, matcher.stands_in)
            if index_erase.sweep(index):
                remaining = {}
        remaining |= {
            path: HELD for path, (scope, _) in holding.items() if scopes is None or scope in scopes
        }
    return remaining


def _may_find_documents(query: "SearchQuery") -> bool:
    """Whether the filters of a query let documents through: they have no vectors, tags or fields."""
    has_kind = not query.kinds or KIND in query.kinds
    has_filter = query.tags or query.where or query.mode == "semantic"
    return has_kind and not has_filter and query.limit > 0


def _documents(vault: OpenVault, *, looks: bool) -> "DocumentIndex | None":
    """Returns the documents; None where none were found so far, and `looks` finds none either."""
    is_indexed = (vault.state.path / FOLDER).exists()
    if not is_indexed and not (looks and _has_documents(vault)):
        return None
    return document_index.DocumentIndex(document_index.Source.of(vault))


def _has_documents(vault: OpenVault) -> bool:
    try:
        return bool(vault.folder.listing(suffixes=SUFFIXES).entries)
    except VaultMemoryError:
        # Fault (C57): the vault may be away, and its index answers.
        return False


def _is_due(vault: OpenVault) -> bool:
    """Whether a search looks at the names of all files, which takes as long as the search itself."""
    now = time.monotonic()
    if now < _next_looks.get(vault, 0.0):
        return False
    _next_looks[vault] = now + LOOK_SECONDS
    return True


def _has_daemon(vault: OpenVault) -> bool:
    """Whether a daemon tends the vault, which may be this process."""
    # Fault: a look that takes the lock for a moment would refuse a daemon that starts.
    pid = vault.state.lock_file.with_suffix(".pid")
    try:
        os.kill(int(pid.read_text("ascii")), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        # Fault (A26): a daemon that was killed leaves its file, with the id of no process.
        return False
    return True


def _look(documents: "DocumentIndex", *, patience: float | None) -> None:
    """Brings the names up to date."""
    with documents.opened() as index:
        changes = documents.changes(index)
    if not changes:
        return
    try:
        with documents.updating(patience=patience) as index:
            documents.put_names(index, documents.changes(index))
    except state_file.LockTaken:
        # Another process brings them up to date at this moment.
        return
