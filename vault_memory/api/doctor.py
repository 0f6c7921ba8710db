"""The checks of `doctor`. Each result is a sentence with a state, and a fix if there is one."""

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vault_memory.api import checks, note_checks
from vault_memory.api.checks import by_reason, counted, failed, passed, some, warned
from vault_memory.api.status_report import LAYOUT_COMMAND
from vault_memory.config import remote_password
from vault_memory.database.connection import DatabaseError, quick_check
from vault_memory.edits.people import people_in, twins
from vault_memory.edits.reports import Check
from vault_memory.errors import (
    BrainUnavailable,
    ConfigError,
    EmbedderUnavailable,
    NoteNotFound,
    NoteUnreadable,
    VaultMemoryError,
)
from vault_memory.index.inspection import row_counts
from vault_memory.index.schema import missing_notes
from vault_memory.learning import ledgers, token_budget
from vault_memory.markdown import document
from vault_memory.models.embedding import embedders
from vault_memory.models.llm import factory
from vault_memory.rules.facts import fact_page
from vault_memory.rules.paths.filenames import awkward, clashes
from vault_memory.rules.paths.layout import bots
from vault_memory.rules.search import stopwords
from vault_memory.sync import status
from vault_memory.sync.observe import other_clients
from vault_memory.vault.listing import MOST
from vault_memory.vault.watch import mounts

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.vault.listing import Listing

REVERTED_NOTES = 3
"""As many reverted notes suggest a restored backup; a person may revert one or two"""
SAMPLED_CHUNKS = 300
"""Chunks of which the language is guessed"""
RECENT_SECONDS = 7 * 86_400
JOURNAL_CHECK, SYNC_CHECK = "journal", "sync state"
_INDEX_CHECKS = {"index", "index equals notes"}
_REPAIRED = {JOURNAL_CHECK, SYNC_CHECK, *_INDEX_CHECKS}
"""Checks whose failure `doctor --fix` repairs"""
FIX = "vault-memory doctor --fix"
MULTILINGUAL = "vault-memory models install multilingual --use"

CheckFunction = Callable[["VaultMemory"], Iterator[Check]]
"""Yields the results of one check. An error is named after the function."""


def examine(memory: "VaultMemory", *, fix: bool) -> list[Check]:
    """Run all checks in order. With `fix`, repair what is damaged, and run them again.

    An index that is damaged or differs from the notes is built again. Of a damaged journal, the
    readable rows are kept. A damaged sync state starts empty.
    """
    checks = _run_checks(memory)
    failures = {
        check.name: check.reason
        for check in checks
        if check.state == "fail" and check.name in _REPAIRED
    }
    if not (fix and failures):
        return checks
    _repair(memory, failures)
    return _run_checks(memory)


def examine_without_configuration(memory: "VaultMemory", error: ConfigError) -> list[Check]:
    """Run the checks that need no setting, for a vault whose configuration cannot be read.

    `memory` is open with the default settings.
    """
    # Fault: the index must not be brought up to date with another layout than the vault's.
    functions = (_vault, _state_folder, _other_databases, _past)
    return [
        failed("configuration", error.message, "vault-memory config edit"),
        *(check for run in functions for check in _guarded(run, memory)),
        warned("other checks", "they need the configuration, and did not run", ""),
    ]


def _run_checks(memory: "VaultMemory") -> list[Check]:
    return [check for run in _CHECKS for check in _guarded(run, memory)]


def _repair(memory: "VaultMemory", failures: Mapping[str, str]) -> None:
    """Repair what these checks found; the value of each is its reason."""
    if JOURNAL_CHECK in failures:
        memory.edits.repair_journal(failures[JOURNAL_CHECK])
    if SYNC_CHECK in failures:
        memory.sync.reset_state()
    if failures.keys() & _INDEX_CHECKS:
        memory.vault.indexing.update(rebuild=True)


def _guarded(run: CheckFunction, memory: "VaultMemory") -> Iterator[Check]:
    """Run one check. An error is its result, so that the other checks still run."""
    name = run.__name__.strip("_").replace("_", " ")
    try:
        yield from run(memory)
    except VaultMemoryError as error:
        yield failed(name, error.message, error.hint)
    except DatabaseError as error:
        yield failed(name, f"the database says: {error}", FIX)


def _vault(memory: "VaultMemory") -> Iterator[Check]:
    memory.vault.check_identity()
    vault_id = memory.vault.indexing.marker.vault
    yield passed("vault", f"{memory.root} has the id {vault_id}")


def _state_folder(memory: "VaultMemory") -> Iterator[Check]:
    folder = memory.vault.state.path
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    # The index in this folder has the text of all notes.
    if mode & 0o077:
        reason = f"{folder} is open to others"
        yield warned("state folder", reason, f"chmod 700 {folder}")
    else:
        yield passed("state folder", f"{folder} is private")


def _index(memory: "VaultMemory") -> Iterator[Check]:
    index = memory.vault.indexing.index()
    damage = row_counts.damage(index)
    if damage:
        yield failed("index", f"the database is damaged: {damage}", FIX)
        return
    notes, chunks = index.counts()
    generation = memory.vault.indexing.generations.current
    yield passed("index", f"{notes} notes, {chunks} chunks, generation {generation}")


def _other_databases(memory: "VaultMemory") -> Iterator[Check]:
    """Check the databases that cannot be rebuilt from the notes, and look for damaged copies."""
    files = {JOURNAL_CHECK: memory.vault.state.journal, SYNC_CHECK: memory.vault.state.sync_state}
    for name, file in files.items():
        if file.exists():
            yield _readable(name, file)
    for name, file in files.items():
        for copy in _damaged_copies(file):
            yield warned(
                name,
                f"it was damaged once; the damaged file is kept: {copy}",
                "look through `vault-memory history NOTE`; delete the file when you miss nothing",
            )


def _readable(name: str, file: "Path") -> Check:
    verdict = quick_check(file)
    if verdict != "ok":
        return failed(name, f"`{file.name}` is damaged: {verdict}", FIX)
    return passed(name, f"every page of `{file.name}` can be read")


def _damaged_copies(file: "Path") -> Iterator["Path"]:
    """Yield the damaged files that a repair set aside, without the files that SQLite adds."""
    for copy in sorted(file.parent.glob(f"{file.name}.damaged-*")):
        if not copy.name.endswith(("-wal", "-shm")):
            yield copy


def _index_equals_notes(memory: "VaultMemory") -> Iterator[Check]:
    memory.vault.indexing.refresh()
    index = memory.vault.indexing.index()
    name = "index equals notes"
    differing = [
        path
        for path, indexed in index.files().items()
        if _revision_on_disk(memory, path) != indexed.revision
    ]
    if differing:
        yield failed(name, f"differs for {some(differing)}", FIX)
    elif missing := missing_notes(index):
        fix = "raise the limit of memory (`ulimit -v`), or move what is no note out of the vault"
        reason = f"{missing:,} notes are missing: the vault has more than {MOST:,} files"
        yield failed(name, reason, fix)
    else:
        yield passed(name, "every note was read and compared by its SHA-256")


def _revision_on_disk(memory: "VaultMemory", path: str) -> str | None:
    """Return the revision of a note; None when it cannot be read."""
    try:
        return memory.vault.folder.read(path).revision
    except (NoteNotFound, NoteUnreadable):
        # A person may delete the note after the index was updated.
        return None


def _layout(memory: "VaultMemory") -> Iterator[Check]:
    """Count the Markdown files that no layout claims: search does not read them."""
    report = memory.vault.layout_report()
    survey = report.survey
    names = f" ({some(list(survey.examples))})" if survey.examples else ""
    reason = (
        f"Markdown files: {survey.claimed:,} are memory, {survey.unclaimed:,} are not"
        f"{names}, {survey.excluded:,} are excluded"
    )
    if survey.is_mostly_unclaimed:
        yield warned("layout", reason, LAYOUT_COMMAND)
    else:
        yield passed("layout", reason)
    if report.remark:
        yield warned("configuration", report.remark, "")


def _fact_lines(memory: "VaultMemory") -> Iterator[Check]:
    """Look for lines of fact pages that state no fact. They stay, but nothing reads them."""
    for path in memory.vault.indexing.index().files():
        place = memory.layout.place(path)
        if place is None or place.kind != "facts":
            continue
        page = document.parse(memory.vault.folder.read(path).raw)
        unread = fact_page.unread_lines(page)
        if unread:
            yield warned(
                "facts",
                f"{len(unread)} lines of `{path}` state no fact: {some(unread)}",
                "a fact is written as `- predicate: object (since 2026-01-31)` "
                "below a heading with its subject",
            )


def _past(memory: "VaultMemory") -> Iterator[Check]:
    """Check whether the vault was restored from a backup, or the audit log was edited."""
    older = memory.edits.reverted_notes()
    if len(older) >= REVERTED_NOTES:
        yield warned(
            "earlier versions",
            f"{len(older)} notes went back to earlier versions: {some(sorted(older))}",
            "the newer ones are kept: `vault-memory history NOTE` lists them, "
            "`vault-memory restore NOTE REVISION` brings one back",
        )
    if lost := memory.edits.lost_histories():
        yield checks.without_note(lost)
    for note, bad_lines in memory.edits.audit_gaps().items():
        problem = "records were removed"
        if bad_lines:
            problem = f"{bad_lines} lines are not records"
        yield warned(
            "audit",
            f"the audit log of `{note}` has a gap: {problem}",
            "the missing changes cannot be undone; "
            "`vault-memory history` shows the versions that are kept",
        )


def _ledgers(memory: "VaultMemory") -> Iterator[Check]:
    """Which lines of ledgers are no records?"""
    for path, bad in ledgers.of_vault(memory.vault).bad_lines().items():
        yield Check(
            "ledgers",
            "warn",
            f"{bad} lines of `{path}` are not records; they are skipped",
            "a crash or another program left them; they may be deleted",
        )


def _names(memory: "VaultMemory") -> Iterator[Check]:
    listing = memory.vault.folder.listing()
    yield from _similar_names(memory, listing)
    awkward_names = {path: awkward(path.rpartition("/")[2]) for path in listing.entries}
    for reason, paths in by_reason(awkward_names).items():
        fix = "rename it" if len(paths) == 1 else "rename them"
        yield warned("names", f"{counted(paths)}: {reason}", fix)
    for reason, paths in by_reason(listing.unknown).items():
        yield warned("names", f"{counted(paths)} cannot be looked at: {reason}", "")
    if listing.copies:
        verb = "waits" if len(listing.copies) == 1 else "wait"
        yield warned(
            "conflict copies",
            f"{some(sorted(listing.copies))} {verb} for you",
            "`vault-memory conflicts` shows and settles them",
        )
    bot_folders = bots(listing.entries)
    if len(bot_folders) > 1 and not memory.vault.config.layout.bot:
        reason = f"folders of {some(sorted(bot_folders))} are all read"
        yield warned("bots", reason, "set `bot` in [layout]")


def _similar_names(memory: "VaultMemory", listing: "Listing") -> Iterator[Check]:
    """Look for notes and people whose names differ only in case or in the form of accents."""
    for group in clashes(listing.entries):
        reason = f"{some(list(group))} are one name on some systems"
        yield warned("names", reason, "rename all but one")
    for people in twins((*people_in(memory.root), *_users(memory))):
        reason = f"the people {some(list(people))} cannot be told apart"
        yield warned("names", reason, "rename all but one")


def _users(memory: "VaultMemory") -> Iterator[str]:
    """Yield the people of tokens, and the person of notes at the root of the vault."""
    yield from (token.user for token in memory.vault.config.serve.tokens)
    if (memory.root / "USER.md").exists():
        yield memory.layout.user


def _embedder(memory: "VaultMemory") -> Iterator[Check]:
    """Check whether search by meaning works as configured, with a model that knows the language."""
    settings = memory.vault.config.embedding
    if settings.kind == "off":
        yield passed("embedder", "switched off: search works by keywords")
        return
    is_minilm = settings.kind != "api" and settings.model == "minilm"
    fix = embedders.remedy(settings, cache=memory.vault.semantic.cache)
    # The first advice is the one to follow: another model would have to be replaced.
    if is_minilm and not stopwords.is_english(_sample(memory)):
        fix = MULTILINGUAL
        reason = "most notes are not in English, and the model `minilm` knows only English"
        yield warned("language", reason, fix)
    yield _working_embedder(memory, fix)


def _working_embedder(memory: "VaultMemory", fix: str) -> Check:
    """Load the embedder, and embed one word; the model of a server does it there."""
    settings = memory.vault.config.embedding
    cache = memory.vault.semantic.cache
    # Fault: a model that is not here yet would be downloaded by a mere check.
    local = settings._replace(kind="auto") if settings.kind == "onnx" else settings
    problem = embedders.available(local, cache=cache)
    if problem:
        return warned("embedder", f"search works by keywords only: {problem}", fix)
    embedders.check_files(settings, cache=cache, vault=memory.root)
    try:
        embedder = embedders.load_embedder(settings, cache=cache, vault=memory.root)
        if embedder is not None:
            embedder.embed(["word"], query=True)
    except EmbedderUnavailable as error:
        reason = f"search works by keywords only: {error.message}"
        return warned("embedder", reason, error.hint or "see [embedding]")
    way = f"{settings.base_url} answers" if settings.kind == "api" else settings.kind
    return passed("embedder", f"{way}, model {settings.model}")


def _sample(memory: "VaultMemory") -> list[str]:
    """Return the text of some notes, for a guess of their language."""
    return row_counts.sample_texts(memory.vault.indexing.index(), SAMPLED_CHUNKS)


def _brain(memory: "VaultMemory") -> Iterator[Check]:
    settings = memory.vault.config.brain
    if settings.kind == "rules":
        reason = "no language model: what is worth remembering is found by phrases"
        yield passed("brain", reason)
        return
    problem = factory.brain_trouble(settings, vault=memory.root)
    if problem:
        reason = f"phrases replace the language model: {problem}"
        yield warned("brain", reason, "see [brain]")
        return
    try:
        way = token_budget.chosen_way(memory.vault, datetime.now(UTC))
    except BrainUnavailable as error:
        reason = f"phrases replace the language model: {error.message}"
        yield warned("brain", reason, error.hint or "see [brain]")
        return
    asked = "with whole answers" if way == "full" else "with one word for each turn"
    yield passed("brain", f"{settings.kind} answers, {asked}")


def _watcher(memory: "VaultMemory") -> Iterator[Check]:
    if sys.platform != "linux":
        reason = "changes are found by polling: events are used on Linux only"
        yield passed("watcher", reason)
    elif problem := mounts.watchable(memory.root):
        yield warned("watcher", f"changes are found by polling: {problem}", "")
    else:
        yield passed("watcher", "the system reports changes")


def _sync(memory: "VaultMemory") -> Iterator[Check]:
    """Check the state of sync on this device, without a request to the server."""
    remote = memory.vault.config.remote
    if not remote.url:
        yield passed("sync", "no remote is set up")
        return
    other_clients.refuse_other_clients(memory.root)
    remote_password.password_of(remote, memory.vault.environment, memory.root)
    state = status.read_status(memory.vault.state.path)
    for error in state.errors:
        about = f"`{error.path}`: " if error.path else ""
        reason = f"{about}{error.reason}"
        yield warned("sync", reason, "vault-memory remote test")
    if state.held:
        fix = "look, then `vault-memory sync --approve-deletes`"
        yield warned("sync", state.held[0].reason, fix)
    if state.errors or state.held:
        return
    last = "not synced yet"
    if state.last_good:
        last = f"last in step {state.last_good}"
    yield passed("sync", f"{remote.url}: {last}")


def _hooks(memory: "VaultMemory") -> Iterator[Check]:
    """Check whether a hook failed recently. The host of a hook does not show it."""
    log = memory.vault.state.hook_log
    try:
        age = time.time() - log.stat().st_mtime
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        # No hook has failed yet.
        return
    if age < RECENT_SECONDS:
        error = "".join(lines[-1:])
        yield warned("hooks", f"a hook failed recently: {error}", f"see {log}")


_CHECKS = (
    _vault,
    _state_folder,
    _index,
    _other_databases,
    _index_equals_notes,
    _layout,
    lambda memory: note_checks.unusual_notes(memory.vault.indexing.index()),
    _fact_lines,
    _past,
    _ledgers,
    _names,
    _embedder,
    _brain,
    _watcher,
    _sync,
    _hooks,
)
