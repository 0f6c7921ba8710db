"""class VaultMemory: puts the rooms together, and is what a bot written in Python calls."""

import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vault_memory import config as configuration
from vault_memory.api import stats as inspection
from vault_memory.context.calls import ContextCalls
from vault_memory.conversations.calls import ConversationCalls
from vault_memory.errors import EmbedderUnavailable, UsageError, VaultMemoryError
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.ingest.lifecycle import Indexing, Progress
from vault_memory.lazy import lazy_module
from vault_memory.learning.calls import LearningCalls
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.layout import Layout, Pattern
from vault_memory.search.embedder_handle import Semantic
from vault_memory.sync.calls import SyncCalls
from vault_memory.transfer.calls import TransferCalls
from vault_memory.vault.locate import locate
from vault_memory.vault.marker import Marker, read_marker
from vault_memory.vault.reader import Folder
from vault_memory.vault.state_dir import StateFolder, cache_root, first_marker, state_of

if TYPE_CHECKING:
    from vault_memory.api import doctor as api_doctor
    from vault_memory.edits import reports
    from vault_memory.edits.reports import Check, IndexReport, NoteInfo, NoteText
    from vault_memory.index import vector_cache, vectors
    from vault_memory.index.store import Index
    from vault_memory.index.vector_cache import Matrices
    from vault_memory.ingest import embed_pending, pending_index
    from vault_memory.ingest.pending_index import PendingIndex
    from vault_memory.markdown import document
    from vault_memory.memory_tool import tool
    from vault_memory.memory_tool.tool import MemoryTool
    from vault_memory.rules.paths import caller
    from vault_memory.search import freshness as search_freshness
    from vault_memory.search import query as search_query
    from vault_memory.search.freshness import Freshness, SearchAnswer
    from vault_memory.search.results import Answer
else:
    api_doctor = lazy_module("vault_memory.api.doctor")
    reports = lazy_module("vault_memory.edits.reports")
    vector_cache = lazy_module("vault_memory.index.vector_cache")
    vectors = lazy_module("vault_memory.index.vectors")
    embed_pending = lazy_module("vault_memory.ingest.embed_pending")
    pending_index = lazy_module("vault_memory.ingest.pending_index")
    document = lazy_module("vault_memory.markdown.document")
    tool = lazy_module("vault_memory.memory_tool.tool")
    caller = lazy_module("vault_memory.rules.paths.caller")
    search_freshness = lazy_module("vault_memory.search.freshness")
    search_query = lazy_module("vault_memory.search.query")

NO_SCOPES = "name at least one scope, such as `user:alice`; an empty list finds nothing by design"


class VaultMemory(
    ContextCalls, LearningCalls, ConversationCalls, SyncCalls, TransferCalls
):
    """One vault, opened. Usable from several threads; each call is short and takes the lock."""

    def __init__(
        self,
        root: Path,
        marker: Marker,
        config: configuration.Config,
        state: StateFolder,
        cache: Path,
    ) -> None:
        super().__init__()
        self.root = root
        self.config = config
        self.state = state
        self.folder = Folder(root)
        self.semantic = Semantic(
            config.embedding, cache, reason="the model is not loaded", vault=self.root
        )
        self.dirty: Callable[[], Collection[str]] = tuple
        """names the notes that are known to be newer on disk than in the index; a daemon sets it"""
        layout = config.layout
        patterns = [
            Pattern(pattern.path, pattern.kind, pattern.scope)
            for pattern in layout.patterns
        ]
        self.layout = Layout(patterns, user=layout.user, bot=layout.bot or None)
        self.indexing = Indexing(
            self.folder, marker, self.layout, layout, state.index_folder
        )
        self.matrices: Matrices | None = None
        self._pending: PendingIndex | None = None
        self._lock = threading.RLock()
        self._missing: tuple[tuple[str, str, int], int, float] | None = None
        self._count_lasts = 0.0
        """seconds for which a count of what is not embedded is given again although the index has changed"""

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        config: str | Path | configuration.Config | None = None,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Open the vault at `path`, else the one that the environment or the current folder means.

        `config` is a TOML file or a Config. Raises NoVault, VaultUnreachable, ConfigError, TwoCopies.
        """
        env = os.environ if environment is None else environment
        root = locate(path, env, start=Path.cwd())
        marker = read_marker(root) or first_marker(root, env)
        state = state_of(root, marker, env)
        if not isinstance(config, configuration.Config):
            named = config or env.get("VAULT_MEMORY_CONFIG")
            if named and not Path(named).exists():
                raise configuration.missing(Path(named))
            file = Path(named) if named else state.config_file
            config = configuration.load(file, env)
        else:
            file = None
        memory = cls(root, marker, config, state, cache_root(env))
        memory.environment, memory.config_file = env, file
        return memory

    def close(self) -> None:
        """Give back the files. The object is not to be used afterwards."""
        self._close_editing()
        with self._lock:
            self.indexing.close()
            if self._pending is not None:
                self._pending.close()

    @property
    def pending(self) -> "PendingIndex":
        """What waits to be written, searchable; made when it is first needed."""
        if self._pending is None:
            self._pending = pending_index.PendingIndex(
                self.state.path, self.folder, self.layout
            )
        return self._pending

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @rebuild_if_damaged
    def index(
        self,
        paths: Sequence[str] = (),
        *,
        rebuild: bool = False,
        embed: bool = True,
        progress: Progress | None = None,
    ) -> "IndexReport":
        """Bring the index up to date with the notes (all, or those under `paths`), and embed what is new.

        Waits up to 0.3 s when notes were saved just now or are absent, and looks again before it concludes.
        """
        started = time.perf_counter()
        report = self.indexing.update(
            [inside(path) for path in paths], rebuild=rebuild, progress=progress
        )
        embedded = self.embed(progress) if embed else 0
        delta = report.delta
        seconds = time.perf_counter() - started
        counts = (
            self.indexing.index().count_notes(),
            len(report.changed),
            len(report.removed),
            delta.added,
            delta.kept,
            delta.removed,
            embedded,
        )
        return reports.IndexReport(*counts, round(seconds, 3))

    def fork(self, *, resident: bool = False) -> Self:
        """The same vault for another thread: an index connection of its own, the same embedder.

        `resident` keeps the vectors of searched scopes in memory.
        """
        other = type(self)(
            self.root,
            self.indexing.marker,
            self.config,
            self.state,
            self.semantic.cache,
        )
        other.semantic = self.semantic
        other.indexing.leave = self.indexing.leave
        other.environment, other.config_file = self.environment, self.config_file
        other.dirty = lambda: self.dirty()
        if resident:
            other.matrices = vector_cache.Matrices()
            other._count_lasts = 1.0
        return other

    def embed(
        self,
        progress: Progress | None = None,
        *,
        go_on: Callable[[], bool] = lambda: True,
    ) -> int:
        """Embed what has no vector yet, when an embedder is to be had, as long as `go_on` says so.

        Returns how many chunks were embedded.
        """
        embedder = self.semantic.warm()
        if embedder is None:
            return 0
        tell = (
            (lambda done, total: progress("embedding", done, total))
            if progress
            else None
        )
        try:
            return embed_pending.embed_pending(
                self.indexing.index(), embedder, go_on=go_on, progress=tell
            )
        except VaultMemoryError as error:
            self.semantic.drop(error.message)
            return 0

    @rebuild_if_damaged
    def refresh(
        self,
        progress: Progress | None = None,
        *,
        renew: bool = True,
        briefly: bool = False,
    ) -> None:
        """Bring the text up to date with the notes. Without `renew`, an index of older rules is left to the daemon.

        `briefly` is for a question. It takes in large notes for less than a second, and the answer names the others.
        """
        if (
            renew
            or self.indexing.generations.current == 0
            or not self.indexing.is_outdated
        ):
            self.indexing.refresh(progress, briefly=briefly)

    @rebuild_if_damaged
    def search(
        self,
        query: str,
        *,
        scopes: Sequence[str],
        mode: str | None = None,
        limit: int | None = None,
        now: datetime | None = None,
        topic: str | None = None,
        entity: str | None = None,
        since: date | None = None,
        until: date | None = None,
        kinds: Collection[str] = (),
        why: bool = False,
        session: str | None = None,
        refresh: bool = True,
    ) -> "SearchAnswer":
        """The chunks that answer `query` best, from the notes of `scopes` and no other.

        `mode` is balanced, keyword, semantic or rrf. Vectors take part once `warm` was called; without them every mode
        goes by words, and `freshness.semantic` says so. `refresh` first brings the index up to date; whoever runs
        beside a daemon may leave that to it. `since` and `until` are inclusive. `session` is the open
        conversation, whose own turns are left out. Raises UsageError for an unknown mode
        or a bare string as `scopes`.
        """
        if isinstance(scopes, str):
            raise UsageError(
                f"`scopes` is a list of scopes, not {scopes!r}", hint=NO_SCOPES
            )
        if refresh:
            self.indexing.refresh()
        index = self.indexing.index()
        wanted = mode or self.config.recall.mode
        ask = partial(
            search_query.search,
            index,
            query,
            scopes=scopes,
            mode=wanted,
            limit=limit or self.config.recall.limit,
            now=now or datetime.now(UTC),
            topic=topic,
            entity=entity,
            since=since,
            until=until,
            kinds=kinds,
            why=why,
            cues=self.config.recall.dialogue_cues,
            pending=self.pending.index(),
            session=session or "",
        )
        dirty = self.dirty()  # before: what is read in meanwhile is in the index, and not yet in what is searched
        with index.reading():  # a note named as stale and its text are of one moment
            answer = self._with_vectors(ask) or ask(
                mode="keyword" if wanted == "semantic" else wanted
            )
            return search_freshness.SearchAnswer(
                answer.hits, self._freshness(index, dirty), answer.left_out
            )

    def _with_vectors(self, ask: Callable[..., "Answer"]) -> "Answer | None":
        """The answer with the embedder's help; None when there is none, or it failed just now."""
        embedder = self.semantic.embedder
        if embedder is None:
            return None
        try:
            return ask(
                embed=lambda text: embedder.embed([text], query=True)[0],
                model=embedder.fingerprint,
                matrices=self.matrices,
            )
        except EmbedderUnavailable as error:
            self.semantic.drop(error.message)
            return None

    @rebuild_if_damaged
    def scopes(self) -> list[str]:
        """The names of all scopes that have a note, or will have one once what waits is written."""
        waiting = self.pending.index()
        known = self.indexing.index().scopes()
        return known if waiting is None else sorted({*known, *waiting.scopes()})

    def warm(self) -> str:
        """Load the embedder, so that vectors take part in search. Returns the reason when that cannot be."""
        self.semantic.warm()
        return "" if self.semantic.embedder else self.semantic.reason

    @rebuild_if_damaged
    def freshness(self) -> "Freshness":
        """How fresh an answer given now is."""
        return self._freshness(self.indexing.index(), self.dirty())

    def _freshness(self, index: "Index", dirty: Collection[str]) -> "Freshness":
        stale = tuple(sorted({*index.stale(), *dirty, *self.indexing.behind}))
        embedder = self.semantic.embedder
        if embedder is None:
            return search_freshness.Freshness(
                stale, self.semantic.state, self.semantic.reason
            )
        missing = self._count_missing(index, embedder.fingerprint)
        return (
            search_freshness.Freshness(stale, "warming", f"{missing} chunks to embed")
            if missing
            else search_freshness.Freshness(stale, "ready", "")
        )

    def read(self, note: str) -> "NoteText":
        """A note as it is on disk now. Raises BadPath, NoteNotFound, NoteUnreadable."""
        found = self.folder.read(inside(note))
        sections = tuple(section.name for section in document.parse(found.raw).sections)
        return reports.NoteText(
            found.path,
            found.revision,
            found.raw.decode("utf-8", errors="replace"),
            sections,
        )

    @rebuild_if_damaged
    def notes(self, scopes: Sequence[str] | None = None) -> "list[NoteInfo]":
        """The notes that search reads, sorted by path; only those of `scopes` when given."""
        self.indexing.refresh()
        return inspection.notes(self.indexing.index(), scopes)

    @rebuild_if_damaged
    def status(self, *, refresh: bool = True) -> dict[str, object]:
        """The state of things, with the keys of the JSON contract."""
        if refresh:
            self.indexing.refresh()
        return inspection.status(self)

    @rebuild_if_damaged
    def stats(self, scopes: Sequence[str] | None = None) -> dict[str, object]:
        """Counts by kind, scope and source; with `scopes` of those alone."""
        self.indexing.refresh()
        index = self.indexing.index()
        return (
            inspection.stats(index)
            if scopes is None
            else inspection.stats_of(index, scopes)
        )

    def memory_tool(
        self, *, user: str, channel: str = "", private: bool = False
    ) -> "MemoryTool":
        """Anthropic's memory tool over the notes of a person: `execute` carries out what the model asks for.

        With a `channel`, everybody there reads the answers: then it is over the dated notes of the channel, unless
        `private` is true. Raises UsageError for a name that no person of this vault can have.
        """
        return tool.MemoryTool(self, caller.Caller(user, channel, private=private))

    def doctor(self, *, fix: bool = False) -> "list[Check]":
        """Look at everything that could be wrong; with `fix`, mend what can be mended without touching a note."""
        with self._lock:
            return api_doctor.examine(self, fix=fix)

    def _count_missing(self, index: "Index", fingerprint: str) -> int:
        key = (fingerprint, index.path, index.change_counter)
        if self._missing is not None:
            before, count, counted = self._missing
            if before == key or (
                before[:2] == key[:2] and time.monotonic() - counted < self._count_lasts
            ):
                return count
        model = vectors.find_model(index.connection, fingerprint)
        count = (
            vectors.missing_count(index.connection, model)
            if model
            else index.counts()[1]
        )
        self._missing = (key, count, time.monotonic())
        return count
