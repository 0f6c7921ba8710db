"""Calls that index notes, search them and read them."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from vault_memory.addons import table
from vault_memory.contract import MOST_HITS, SearchMode
from vault_memory.errors import EmbedderUnavailable, UsageError, VaultMemoryError
from vault_memory.index import schema, vectors
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.ingest import embed_pending
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.scopes import READ_BY_ALL, check_scopes
from vault_memory.search import candidates, filter_values, hot_cache, item_reads, note_reports
from vault_memory.search import freshness as search_freshness
from vault_memory.search import query as search_query
from vault_memory.search.notes import note_lookup
from vault_memory.search.open_vault import OpenVault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vault_memory.contract.status_answers import StatsJson
    from vault_memory.index.store import Index
    from vault_memory.ingest.lifecycle import Progress
    from vault_memory.rules.paths.layout_survey import Survey
    from vault_memory.search.candidates import VectorArm
    from vault_memory.search.freshness import Freshness, SearchAnswer
    from vault_memory.search.hot_cache import HotCache
    from vault_memory.search.item_reads import ItemReads
    from vault_memory.search.note_reports import IndexReport, NoteList, NoteText
    from vault_memory.search.notes.note_lookup import NoteLinks
    from vault_memory.search.results import Answer, Hit

HITS = 10
"""Hits of a search that names no number"""
EPISODES = timedelta(days=30)
"""Age after which only a question with a date finds the summary of a conversation"""
SURVEY_SECONDS = 30.0
"""How long the number of files that are no memory is used again"""
RESIDENT_COUNT_SECONDS = 1.0
"""How long a daemon repeats a count of missing vectors although the index has changed"""
FILTERS = ("since", "until", "kinds", "tags", "where", "paths")
"""Options that name what text is searched"""


class SearchOptions(TypedDict, total=False):
    """What a caller may say beside the text and the scopes; None is as if left out."""

    mode: SearchMode | None
    limit: int | None
    now: datetime | None
    topic: str | None
    entity: str | None
    since: str | date | None
    until: str | date | None
    kinds: Collection[str]
    tags: Collection[str] | str
    where: Mapping[str, object] | Collection[str] | str
    paths: Collection[str] | str
    why: bool
    copies: bool
    archived: bool
    session: str | None
    refresh: bool
    """whether changed notes are read first; by default they are"""
    preview: bool
    """whether the read lines do not count as used"""


class SearchQuery(NamedTuple):
    """What a caller asks of an index: a text, the scopes to search, and filters."""

    text: str
    """any string"""
    scopes: Sequence[str]
    """only chunks of these scopes are read; without scopes there are no hits"""
    now: datetime
    """the moment that `yesterday` in the text refers to"""
    mode: str = "balanced"
    """one of `MODES`"""
    limit: int = 10
    topic: str | None = None
    entity: str | None = None
    since: date | None = None
    until: date | None = None
    kinds: Collection[str] = ()
    """kinds of notes; empty for all"""
    tags: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    """fields of front matter: `key=value`, or `key` for any value"""
    paths: tuple[str, ...] = ()
    """globs"""
    session: str = ""
    """the open conversation, whose turns are ignored"""
    why: bool = False
    """whether to explain the scores, and count what each filter excludes"""
    copies: bool = False
    """whether chunks that say the same are hits of their own"""
    gated: bool = False
    """whether only lines that have to do with the text are hits"""
    fades: bool = False
    """whether items fade"""
    episodes_since: date | None = None
    """older summaries of conversations are left out, unless the query names a day"""
    archived: bool = False
    """whether faded items are included, with their states"""
    single: frozenset[str] | None = None
    """predicates of facts with one value at a time; None: the usual ones"""


@checked_calls
class SearchCalls:
    """Index, search and read the notes of one vault."""

    INTERNAL = (
        "search",
        "note_reads",
        "episodes_since",
        "answer",
        "unknown_scopes",
        "freshness_of",
    )
    """`VaultMemory.search` checks the values of a bot; those of the other doors are checked before"""

    def __init__(self, vault: OpenVault) -> None:
        self.vault = vault
        self.unread_notes: Callable[[], Collection[str]] = tuple
        """names the notes that are newer on disk than in the index; the daemon sets it"""
        self._missing: tuple[tuple[str, str, int], int, float] | None = None
        self._surveyed: tuple[float, Survey | None] = (float("-inf"), None)
        self._count_lasts = 0.0
        self.embedding_progress: Progress | None = None
        """shows how far a background thread is with embedding; `run` sets it"""
        self.is_incognito: Callable[[str], bool] = lambda session: False
        """tells whether a conversation leaves no trace; the recorder of conversations sets it"""
        self._reads: ItemReads | None = None
        self._cache: HotCache | None = None

    def fork(self, vault: OpenVault, *, resident: bool) -> "SearchCalls":
        """Make the calls of a forked vault; `resident` counts missing vectors seldom."""
        fork = SearchCalls(vault)
        fork.unread_notes = lambda: self.unread_notes()
        fork.is_incognito = lambda session: self.is_incognito(session)
        fork.embedding_progress = self.embedding_progress
        if resident:
            fork._count_lasts = RESIDENT_COUNT_SECONDS
        return fork

    def forget_cached(self) -> None:
        """Drop cached answers; the next search reads the index again."""
        self._cache = None

    @rebuild_if_damaged
    def index(
        self,
        paths: Sequence[str] = (),
        *,
        rebuild: bool = False,
        embed: bool = True,
        progress: "Progress | None" = None,
    ) -> "IndexReport":
        """Bring the index up to date with the notes (all, or those under `paths`), and embed new chunks."""
        started = time.perf_counter()
        report = self.vault.indexing.update(
            [inside(path) for path in paths], rebuild=rebuild, progress=progress
        )
        embedded = self.embed(progress) if embed else 0
        for companion in table.companions("index"):
            companion.update(self.vault, paths, rebuild, progress)
        seconds = round(time.perf_counter() - started, 3)
        index = self.vault.indexing.index()
        return note_reports.index_report(index, report, embedded, seconds)

    def embed(
        self, progress: "Progress | None" = None, *, go_on: Callable[[], bool] = lambda: True
    ) -> int:
        """Embed chunks without a vector while `go_on` is true, and return how many were embedded.

        Embeds nothing when no embedder is available.
        """
        semantic = self.vault.semantic
        embedder = semantic.warm()
        if embedder is None:
            return 0
        progress = progress or self.embedding_progress
        report = partial(progress, "embedding") if progress else None
        try:
            return embed_pending.embed_pending(
                self.vault.indexing.index(), embedder, go_on=go_on, progress=report
            )
        except VaultMemoryError as error:
            # The model server is down: search goes on with keywords.
            semantic.drop(error.message)
            return 0

    @rebuild_if_damaged
    def refresh(
        self, progress: "Progress | None" = None, *, renew: bool = True, briefly: bool = False
    ) -> None:
        """Update the text of the index, not its vectors. `briefly`: leave out large notes that take long."""
        # Without `renew`, an index of an older version of the program is left to the daemon.
        indexing = self.vault.indexing
        is_usable = indexing.generations.current != 0
        if renew or not is_usable or not indexing.is_outdated:
            indexing.refresh(progress, briefly=briefly)

    @rebuild_if_damaged
    def search(
        self, query: str, scopes: Sequence[str], options: SearchOptions | None = None
    ) -> "SearchAnswer":
        """Find the chunks of `scopes` that answer a query best; see `VaultMemory.search`."""
        check_scopes(scopes)
        chosen: dict[str, Any] = dict(options or {})
        refresh, preview = chosen.pop("refresh", True), chosen.pop("preview", False)
        request = self._query(query, scopes, chosen)
        if refresh:
            self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        pending = self.vault.pending()
        # Named before the search: a note indexed meanwhile is in the index, and not yet in this read transaction.
        unread = self.unread_notes()
        # One read transaction: a note that is named as stale and the text of the hits are of the same moment.
        with index.reading():
            answer = self.answer(index, request, pending)
            result = search_freshness.SearchAnswer(
                answer.hits,
                self.freshness_of(index, unread),
                answer.left_out,
                self.unknown_scopes(index, scopes),
                answer.unknown_filters,
                answer.words_missing,
                answer.unsure,
            )
        if not preview:
            self.note_reads(answer.hits, request.now, request.session)
        for companion in table.companions("index"):
            result = companion.join(self.vault, request, result)
        # Fault: "nothing found" in a vault full of notes looks like an answer.
        return result if result.hits else result._replace(survey=self._survey())

    def _query(self, text: str, scopes: Sequence[str], options: dict[str, Any]) -> SearchQuery:
        """The question with what the configuration says. Raises UsageError for wrong options."""
        options = _with_filters(options)
        query = SearchQuery(
            text,
            scopes,
            options.pop("now") or datetime.now(UTC),
            options.pop("mode") or self.vault.config.recall.mode,
            options.pop("limit") or HITS,
            fades=self.vault.config.lifecycle.enabled,
            single=self.vault.config.facts.single,
            **options,
        )
        return query._replace(episodes_since=self.episodes_since(query.now))

    def _survey(self) -> "Survey | None":
        """How many Markdown files the layout leaves out; None for a vault that cannot be listed."""
        # Fault: a bot that asks again and again would walk through the vault each time.
        if time.monotonic() - self._surveyed[0] >= SURVEY_SECONDS:
            with suppress(VaultMemoryError):
                self._surveyed = time.monotonic(), self.vault.layout_report().survey
        return self._surveyed[1]

    def note_reads(self, hits: "Iterable[Hit]", moment: datetime, session: str | None) -> None:
        """Note which fading items an answer returned, unless its conversation is incognito."""
        items = [(hit.scope, hit.key) for hit in hits if hit.key]
        # Fault: what an incognito conversation reads must leave no trace.
        if items and not self.is_incognito(session or ""):
            if self._reads is None:
                self._reads = item_reads.ItemReads(self.vault.state.path)
            self._reads.note(items, moment.date())

    def episodes_since(self, now: datetime) -> date:
        """The first day whose summaries of conversations an undated question finds."""
        return now.date() - EPISODES

    def answer(
        self, index: "Index", query: SearchQuery, pending: "Index | None" = None
    ) -> "Answer":
        """Answer a query with vectors when an embedder is loaded, else by keywords.

        The answer may come from the hot cache.
        """
        # Fault: an answer of the cache would hide text that was written since.
        if pending is not None or self._has_stale_notes(index):
            return self._computed(index, query, pending)
        if self._cache is None:
            self._cache = hot_cache.HotCache()
        embedder = self.vault.semantic.embedder
        key = hot_cache.key_of(query, embedder.fingerprint if embedder else "")
        answer = self._cache.get(index, key)
        if answer is None:
            answer = self._computed(index, query, None)
            self._cache.put(index, key, answer)
        return answer

    def _has_stale_notes(self, index: "Index") -> bool:
        return bool(self.unread_notes() or self.vault.indexing.behind or index.stale())

    def _computed(self, index: "Index", query: SearchQuery, pending: "Index | None") -> "Answer":
        vector_arm = self._vector_arm()
        if vector_arm is not None:
            try:
                return search_query.search(index, query, vector_arm=vector_arm, pending=pending)
            except EmbedderUnavailable as error:
                # The model server is down: the query is answered by keywords.
                self.vault.semantic.drop(error.message)
        if query.mode == "semantic":
            query = query._replace(mode="keyword")
        return search_query.search(index, query, pending=pending)

    def _vector_arm(self) -> "VectorArm | None":
        embedder = self.vault.semantic.embedder
        if embedder is None:
            return None
        return candidates.VectorArm(
            embed=lambda text: embedder.embed([text], query=True)[0], model=embedder.fingerprint
        )

    @rebuild_if_damaged
    def scopes(self) -> list[str]:
        """List the scopes that have a note, or will have one once pending writes are written."""
        pending = self.vault.pending()
        indexed = self.vault.indexing.index().scopes()
        return indexed if pending is None else sorted({*indexed, *pending.scopes()})

    def unknown_scopes(self, index: "Index", scopes: Sequence[str]) -> tuple[str, ...]:
        """The scopes without any note, pending or indexed: perhaps misspelt names."""
        # Fault: an empty list of scopes is no misspelt name.
        if not scopes:
            return ()
        names = {READ_BY_ALL, *index.scopes()}
        if not names.issuperset(scopes) and (pending := self.vault.pending()):
            names.update(pending.scopes())
        return tuple(scope for scope in scopes if scope not in names)

    def warm(self) -> str:
        """Load the embedder. Returns the reason when that is impossible, else an empty text."""
        semantic = self.vault.semantic
        semantic.warm()
        return "" if semantic.embedder else semantic.reason

    @rebuild_if_damaged
    def freshness(self) -> "Freshness":
        """How fresh an answer of this moment is."""
        return self.freshness_of(self.vault.indexing.index(), self.unread_notes())

    def freshness_of(self, index: "Index", unread: Collection[str]) -> "Freshness":
        """The freshness of an answer from `index`, when the notes `unread` are newer on disk."""
        semantic = self.vault.semantic
        stale = tuple(sorted({*index.stale(), *unread, *self.vault.indexing.behind}))
        lacks = schema.missing_notes(index)
        state, reason, embedder = semantic.state, semantic.reason, semantic.embedder
        if embedder is not None:
            missing = self._count_missing(index, embedder.fingerprint)
            state = "warming" if missing else "ready"
            reason = f"{missing} chunks to embed" if missing else ""
        return search_freshness.Freshness(stale, state, reason, lacks)

    def read(self, note: str) -> "NoteText":
        """Read a note from disk. Raises BadPath, NoteNotFound, NoteUnreadable."""
        return note_reports.note_text(self.vault.folder.read(inside(note)))

    @rebuild_if_damaged
    def find_note(self, name: str) -> str:
        """Return the path of the note with a path, a name or an alias.

        Raises UsageError when several notes have the name, NoteNotFound, BadPath.
        """
        if self.vault.folder.stat(inside(name)) is not None:
            return name
        self.vault.indexing.refresh()
        return note_lookup.find_note(self.vault.indexing.index(), name)

    @rebuild_if_damaged
    def links(self, note: str) -> "NoteLinks":
        """List the links of a note, and the notes that link to it; `note` may be a name."""
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        linked = note_lookup.links_to_name(index, note)
        return linked or note_lookup.links_of(index, self.find_note(note))

    @rebuild_if_damaged
    def notes(self, scopes: Sequence[str] | None = None) -> "NoteList":
        """List the notes that search reads, sorted by path; only those of `scopes` when they are named."""
        if scopes is not None:
            check_scopes(scopes)
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        notes = note_reports.NoteList(note_reports.list_notes(index, scopes))
        notes.unknown_scopes = self.unknown_scopes(index, scopes or ())
        return notes

    @rebuild_if_damaged
    def stats(self, scopes: Sequence[str] | None = None) -> "StatsJson":
        """Count notes and chunks by kind, scope and source; with `scopes` of those alone."""
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        if scopes is None:
            return note_reports.stats(index, date.today())
        check_scopes(scopes)
        # Fault: a database takes no name that is not UTF-8, and no note has one.
        return note_reports.stats_of(index, sorted({*scopes} & {*index.scopes()}))

    def _count_missing(self, index: "Index", fingerprint: str) -> int:
        """How many chunks have no vector of this model; counted once for each change of the index."""
        # Fault: another process may have replaced the index by a new generation.
        key = (fingerprint, index.path, index.change_counter)
        if self._missing is not None:
            # Fault: a search while notes are embedded would count again for each chunk.
            counted_key, count, counted_at = self._missing
            is_recent = time.monotonic() - counted_at < self._count_lasts
            if counted_key == key or (counted_key[:2] == key[:2] and is_recent):
                return count
        model = vectors.find_model(index, fingerprint)
        count = vectors.missing_count(index, model) if model else index.counts()[1]
        self._missing = (key, count, time.monotonic())
        return count


def _with_filters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with filters as the search needs them. Raises UsageError for wrong ones."""
    filters = {name: value for name, value in options.items() if value is not None}
    options = {"now": None, "mode": None, "limit": None, **filters}
    limit = options["limit"]
    if limit is not None and not 0 <= limit <= MOST_HITS:
        raise UsageError(
            f"a search gives from 1 to {MOST_HITS} hits, not {limit}",
            hint="leave `limit` out for the number that `[recall]` names",
        )
    # A hook asks without any filter, and need not load what reads them.
    if filters.keys().isdisjoint(FILTERS):
        return options
    filter_values.check_kinds(filters.get("kinds", ()))
    options["since"], options["until"] = filter_values.days(
        filters.get("since"), filters.get("until"), options["now"]
    )
    for name, read in (
        ("tags", filter_values.texts),
        ("where", filter_values.fields),
        ("paths", filter_values.paths),
    ):
        options[name] = read(filters.get(name, ()), name)
    return options
