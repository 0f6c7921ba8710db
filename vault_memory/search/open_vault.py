"""An open vault: the resources that every call on it shares, without any call."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from vault_memory import config as configuration
from vault_memory.config.sections import SWITCHED_OFF, EmbeddingSettings
from vault_memory.contract import SemanticState
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import NoteUnreadable, UsageError, VaultError, VaultMemoryError
from vault_memory.index.store import State
from vault_memory.ingest import pending_index
from vault_memory.ingest.lifecycle import Indexing
from vault_memory.logs import Logger
from vault_memory.models.embedding import shared_embedders
from vault_memory.rules.paths.layout import Layout
from vault_memory.search import vault_layout
from vault_memory.vault import state_dir
from vault_memory.vault.locate import locate
from vault_memory.vault.marker import NAME, Marker, amend_if_writable, read_marker
from vault_memory.vault.reader import LARGEST_PARSED, Folder, Identity, Note
from vault_memory.vault.state_dir import (
    StateFolder,
    cache_root,
    first_marker,
    future_marker,
    state_of,
)

if TYPE_CHECKING:
    from vault_memory.index.store import Index
    from vault_memory.ingest.pending_index import PendingIndex
    from vault_memory.models.base import Embedder
    from vault_memory.search.vault_layout import LayoutReport, SettledLayout


logger = Logger(__name__)

BUILT_IN = {"name": "", "daily": "", "exclude": []}
"""The layout in the marker of a vault that has the built-in patterns alone"""
NO_OWNER = "main"
"""The owner of a vault whose owner was not named"""
Notify = Callable[[str, int, int], None]


# --- The embedder ---

# Loads the embedder on demand. Without it search uses keywords; loading is retried later.


class Semantic:
    """At most one embedder. Any thread may read it; the thread that calls `warm` loads it.

    Other vaults of the process may use the same embedder: `drop` concerns only this vault.
    """

    def __init__(self, config: EmbeddingSettings, cache: Path, *, reason: str, vault: Path) -> None:
        self._config = config
        self._vault = vault
        self.cache = cache
        self._lock = threading.Lock()
        self._tried = float("-inf")
        self.embedder: Embedder | None = None
        self.reason = SWITCHED_OFF if config.kind == "off" else reason
        self.loading = False

    @property
    def state(self) -> SemanticState:
        """`ready`: a query can be embedded. The index knows whether all notes are."""
        if self.embedder is not None:
            return "ready"
        return "warming" if self.loading else "off"

    def warm(self, progress: Notify | None = None) -> "Embedder | None":
        """Loads the embedder if it is missing. Returns None, and sets `reason`, when that fails."""
        # Fault: two threads would load the model twice, and fill the memory.
        with self._lock:
            if self.embedder is not None or self._config.kind == "off":
                return self.embedder
            # A server that is down must not delay every search by a timeout.
            if time.monotonic() - self._tried < shared_embedders.RETRY_SECONDS:
                return None
            self._load(progress)
            return self.embedder

    def drop(self, reason: str) -> None:
        """Goes on without the embedder after a failure. A later `warm` tries again."""
        with self._lock:
            self.embedder = None
            self.reason = reason
            # Fault: the wall clock may be set back, which would keep the model away for long.
            self._tried = time.monotonic()

    def _load(self, progress: Notify | None) -> None:
        self.loading = True
        self.reason = "the model is being loaded"
        try:
            self.embedder = shared_embedders.shared_embedder(
                self._config, cache=self.cache, progress=progress, vault=self._vault
            )
            self.reason = "" if self.embedder else SWITCHED_OFF
        except VaultMemoryError as error:
            self.reason = error.message
            self._tried = time.monotonic()
        finally:
            self.loading = False


# --- Open vault ---


class VaultClosed(UsageError):
    """The vault is closed, so no call on it is possible."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"the vault at `{root}` is closed",
            hint="make calls before `close()`, or open the vault again",
        )


class OpenVault:
    """Folder, configuration, state folder, index and embedder of one vault, for one thread at a time.

    `folder`, `indexing`, `semantic` and `pending` raise VaultClosed after `close`.
    """

    def __init__(
        self,
        root: Path,
        marker: Marker,
        config: configuration.Config,
        state: StateFolder,
        semantic: Semantic,
    ) -> None:
        layout = config.layout
        self.root = root
        self.config = config
        self.config_file: Path | None = None
        """where the configuration came from; read again when it changes"""
        self.environment: Mapping[str, str] = {}
        self.layout_table = layout
        """what a person configured of the layout, on this device or on another one"""
        self.state = state
        self.layout = _layout_of(layout)
        self.lock = threading.RLock()
        """guards the index: a connection is used by one thread at a time"""
        self.is_closed = False
        self._marker = marker
        self._marker_stamp: tuple[int, int, int] | None = None
        """State of the marker when its owner was last read"""
        self._owner_now = marker.owner
        self.is_marked = not state.unmarked_file.exists()
        """whether the folder has the marker of a vault; the first write adds it"""
        self._folder = Folder(root, needs_marker=self.is_marked)
        self._semantic = semantic
        self._indexing = Indexing(self._folder, marker, self.layout, layout, state.index_folder)
        self._pending: PendingIndex | None = None

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        config: str | Path | configuration.Config | None,
        environment: Mapping[str, str],
        *,
        marks: bool = True,
    ) -> Self:
        """Open the vault at `path`, else the vault of the environment or of the current folder.

        A folder that is used for the first time gets a marker. Without `marks` nothing is written
        to it: its state has an id that the marker takes over later.

        Raises NoVault, VaultUnreachable, ConfigError, TwoCopies.
        """
        root = locate(path, environment, start=Path.cwd())
        marker = read_marker(root)
        if marker is None:
            marker = (first_marker if marks else future_marker)(root, environment)
        state = state_of(root, marker, environment)
        config_file = None
        if not isinstance(config, configuration.Config):
            config_file = _config_file(config, environment, state)
            config = configuration.load(config_file, environment)
        table = config.layout
        is_own = config_file == state.config_file
        writes = marks and not state.unmarked_file.exists()
        # The configuration stays on this device, and the owner is the same on each.
        if is_own and writes and table.user and not marker.owner:
            marker = amend_if_writable(root, {"owner": table.user}) or marker
        layout = _settled(root, state, marker, table, is_own=is_own, writes=writes)
        if layout is not None:
            table, config = layout.table, config._replace(layout=layout.settings)
        config = with_owner(config, marker)
        semantic = Semantic(
            config.embedding, cache_root(environment), reason="the model is not loaded", vault=root
        )
        vault = cls(root, marker, config, state, semantic)
        vault.config_file, vault.environment = config_file, environment
        vault.layout_table = table
        return vault

    def make_marker(self) -> None:
        """Write the marker of a folder that was only read so far: it becomes a vault."""
        self.is_marked = True
        self._marker = state_dir.mark(self.root, self.environment)
        # Fault (C57): from now on a folder without the marker is another one.
        self.folder.needs_marker = True

    def fork(self) -> Self:
        """Open the same vault for another thread: another index connection, the same embedder."""
        fork = type(self)(self.root, self._marker, self.config, self.state, self.semantic)
        fork.config_file, fork.environment = self.config_file, self.environment
        fork.layout_table = self.layout_table
        fork.indexing.leave = self.indexing.leave
        fork.indexing.is_fresh = self.indexing.is_fresh
        return fork

    def close(self) -> None:
        """Close the index. The vault accepts no call afterwards."""
        with self.lock:
            self.is_closed = True
            self.close_databases()

    def close_databases(self) -> None:
        """Close the index and the reader of pending writes. The next call opens them again."""
        with self.lock:
            self._indexing.close()
            if self._pending is not None:
                self._pending.close()

    def shrink(self) -> None:
        """Give back the memory of cached pages of the index. No other thread may use it meanwhile."""
        with self.lock:
            self._indexing.shrink()

    def check_open(self) -> None:
        """Raise VaultClosed after `close`."""
        if self.is_closed:
            raise VaultClosed(self.root)

    @property
    def marker(self) -> Marker:
        """The marker that the vault had when it was opened."""
        return self._marker

    @property
    def owner(self) -> str:
        """Who owns the notes at the root; "" where no owner was named."""
        return self.layout_table.user or self._marker.owner

    @property
    def has_other_owner(self) -> bool:
        """Whether the marker names another owner than when the vault was opened."""
        # The owner of the configuration overrides that of the marker.
        if self.layout_table.user:
            return False
        try:
            status = os.stat(self.root / NAME)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._marker_stamp:
                self._owner_now = (read_marker(self.root) or self._marker).owner
                self._marker_stamp = stamp
        except (OSError, VaultError):
            # A folder that is away now says nothing about its owner.
            return False
        return self._owner_now != self._marker.owner

    def check_identity(self) -> Identity:
        """Raise VaultUnreachable when the folder is absent or is another vault."""
        return self.folder.check_identity(self._marker.vault)

    def reindex(self, path: str, note: Note | None = None) -> None:
        """Index a note that was just written. Does nothing before the first index exists.

        `note` is what was written, unless somebody saved since.
        """
        indexing = self.indexing
        with self.lock:
            try:
                ingest = indexing.ingest_if_built()
                if ingest is None:
                    return
                if note is None or len(note.raw) > LARGEST_PARSED:
                    note = ingest.read(path)
                if note is not None:
                    ingest.ingest(note, State.SETTLED)
            except NoteUnreadable as error:
                logger.warning("%s", error)
            except DatabaseError as error:
                # Fault (C45): the note is written. A damaged index must not fail the
                # edit, since it can be rebuilt.
                logger.warning("the index did not take in %s: %s", path, error)
                indexing.recover(error)

    def layout_report(self, *, with_counts: bool = True) -> "LayoutReport":
        """Return the layout, and how many Markdown files it claims: that takes a walk."""
        paths = self.folder.listing().entries if with_counts else ()
        settled = vault_layout.SettledLayout(self.config.layout, self.layout_table)
        return vault_layout.report(settled, self.layout, paths, self.root, self.state)

    def keep_layout(self) -> bool:
        """Write the layout to the marker, so that other devices read the same notes as memory.

        Returns whether the vault has to be opened again, with a layout that fits better.
        """
        marker = self.folder.marker() or self._marker
        layout = vault_layout.VaultLayout(self.root, self.state, marker, writes=self.is_marked)
        return layout.keep_current(self.layout_table, self.folder)

    @property
    def folder(self) -> Folder:
        """The notes on disk."""
        self.check_open()
        return self._folder

    @property
    def indexing(self) -> Indexing:
        """The index, and the steps that bring it up to date."""
        self.check_open()
        return self._indexing

    @property
    def cache(self) -> Path:
        """The folder of downloaded models, also after `close`."""
        return self._semantic.cache

    @property
    def semantic(self) -> Semantic:
        """The embedder, loaded or not."""
        self.check_open()
        return self._semantic

    def pending(self) -> "Index | None":
        """A searchable index of the writes that wait; None when no write does."""
        self.check_open()
        # A vault that is only read has no journal, and a command need not load its reader.
        if not self.state.journal.exists():
            return None
        if self._pending is None:
            self._pending = pending_index.PendingIndex(self.state.path, self._folder, self.layout)
        return self._pending.index()


def config_file_of(
    path: str | Path | None, config: str | Path | None, environment: Mapping[str, str]
) -> Path:
    """Return the configuration file of a vault, which may be wrong or absent. Writes no note."""
    root = locate(path, environment, start=Path.cwd())
    marker = read_marker(root) or future_marker(root, environment)
    return _config_file(config, environment, state_of(root, marker, environment))


def _settled(
    root: Path,
    state: StateFolder,
    marker: Marker,
    table: configuration.LayoutSettings,
    *,
    is_own: bool,
    writes: bool,
) -> "SettledLayout | None":
    """Return the layout of the vault; None where the built-in patterns are all of it."""
    is_plain = marker.layout == BUILT_IN or (
        marker.layout is None and not state.layout_file.exists() and state.index_folder.exists()
    )
    # A hook starts at each prompt, and most vaults need nothing more.
    if is_plain and table._replace(user="") == configuration.LayoutSettings():
        return None
    layout = vault_layout.VaultLayout(root, state, marker, writes=writes)
    return layout.settle(table, is_own=is_own)


def with_owner(config: configuration.Config, marker: Marker) -> configuration.Config:
    """Return the configuration with the owner of the vault: the configured one, else that of the marker."""
    owner = config.layout.user or marker.owner or NO_OWNER
    return config._replace(layout=config.layout._replace(user=owner))


def _layout_of(settings: configuration.LayoutSettings) -> Layout:
    if settings.name or settings.patterns or settings.daily or settings.bot_folder:
        return vault_layout.layout_of(settings)
    return Layout(user=settings.user, bot=settings.bot, exclude=settings.exclude)


def _config_file(
    config: str | Path | None, environment: Mapping[str, str], state: StateFolder
) -> Path:
    """The file of the call, else of the environment, else of the state folder."""
    path = config or environment.get("VAULT_MEMORY_CONFIG")
    if not path:
        return state.config_file
    if not Path(path).exists():
        raise configuration.missing(Path(path))
    return Path(path)
