"""The checks of `doctor`. Each result is a sentence with a state, and a fix if there is one."""

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from vault_memory.database.connection import DatabaseError, quick_check
from vault_memory.edits.people import people_in, twins
from vault_memory.edits.reports import Check
from vault_memory.errors import NoteNotFound, NoteUnreadable, VaultMemoryError
from vault_memory.ingest.crash_guard import ENDED_TWICE
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.filenames import awkward, clashes
from vault_memory.rules.paths.layout import bots

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.config import remote_password
    from vault_memory.learning import ledgers
    from vault_memory.markdown import document
    from vault_memory.models.embedding import embedders
    from vault_memory.models.llm import factory
    from vault_memory.rules.facts import fact
    from vault_memory.sync import status
    from vault_memory.sync.observe import other_clients
    from vault_memory.vault.watch import mounts
else:
    remote_password = lazy_module("vault_memory.config.remote_password")
    document = lazy_module("vault_memory.markdown.document")
    embedders = lazy_module("vault_memory.models.embedding.embedders")
    factory = lazy_module("vault_memory.models.llm.factory")
    ledgers = lazy_module("vault_memory.learning.ledgers")
    fact = lazy_module("vault_memory.rules.facts.fact")
    other_clients = lazy_module("vault_memory.sync.observe.other_clients")
    status = lazy_module("vault_memory.sync.status")
    mounts = lazy_module("vault_memory.vault.watch.mounts")

REVERTED_NOTES = 3
"""From so many reverted notes on, a backup may have been restored; a person may revert one or two"""
MOST_NAMES = 5
"""Names listed in one sentence"""
RECENT_SECONDS = 7 * 86_400
JOURNAL_CHECK, SYNC_CHECK = "journal", "sync state"
_INDEX_CHECKS = {"index", "index equals notes"}
_REPAIRED = {JOURNAL_CHECK, SYNC_CHECK, *_INDEX_CHECKS}
"""Checks whose failure `doctor --fix` repairs"""


def examine(memory: "VaultMemory", *, fix: bool) -> list[Check]:
    """Run all checks in order. With `fix`, repair what is damaged, and run them again.

    An index that is damaged or differs from the notes is built again. A damaged journal is read as
    far as possible, and a damaged sync state starts empty.
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


def _guarded(
    look: Callable[["VaultMemory"], Iterator[Check]], memory: "VaultMemory"
) -> Iterator[Check]:
    try:
        yield from look(memory)
    except VaultMemoryError as error:
        yield Check(_name(look), "fail", error.message, error.hint)
    except DatabaseError as error:
        yield Check(
            _name(look),
            "fail",
            f"the database says: {error}",
            "vault-memory doctor --fix",
        )


def _name(look: Callable[["VaultMemory"], Iterator[Check]]) -> str:
    return look.__name__.strip("_").replace("_", " ")


def _vault(memory: "VaultMemory") -> Iterator[Check]:
    memory.vault.check_identity()
    yield Check(
        "vault",
        "ok",
        f"{memory.root} is vault {memory.vault.indexing.marker.vault}",
        "",
    )


def _state_folder(memory: "VaultMemory") -> Iterator[Check]:
    mode = stat.S_IMODE(os.stat(memory.vault.state.path).st_mode)
    if mode & 0o077:
        yield Check(
            "state folder",
            "warn",
            f"{memory.vault.state.path} is open to others",
            f"chmod 700 {memory.vault.state.path}",
        )
    else:
        yield Check("state folder", "ok", f"{memory.vault.state.path} is private", "")


def _index(memory: "VaultMemory") -> Iterator[Check]:
    index = memory.vault.indexing.index()
    verdict = str(index.connection.pragma("quick_check"))
    if verdict != "ok":
        yield Check(
            "index",
            "fail",
            f"the database is damaged: {verdict}",
            "vault-memory doctor --fix",
        )
        return
    notes, chunks = index.counts()
    yield Check(
        "index",
        "ok",
        f"{notes} notes, {chunks} chunks, generation {memory.vault.indexing.generations.current}",
        "",
    )


def _other_databases(memory: "VaultMemory") -> Iterator[Check]:
    """The databases that cannot be rebuilt from the notes, and damaged copies of them."""
    files = {
        JOURNAL_CHECK: memory.vault.state.journal,
        SYNC_CHECK: memory.vault.state.sync_state,
    }
    for name, file in files.items():
        if not file.exists():
            continue
        verdict = quick_check(file)
        if verdict == "ok":
            yield Check(name, "ok", f"every page of `{file.name}` can be read", "")
        else:
            yield Check(
                name,
                "fail",
                f"`{file.name}` is damaged: {verdict}",
                "vault-memory doctor --fix",
            )
    for name, file in files.items():
        for aside in sorted(file.parent.glob(f"{file.name}.damaged-*")):
            if not aside.name.endswith(("-wal", "-shm")):
                yield Check(
                    name,
                    "warn",
                    f"it was damaged once; the damaged file is kept: {aside}",
                    "look through `vault-memory history NOTE`; delete the file when you miss nothing",
                )


def _index_equals_notes(memory: "VaultMemory") -> Iterator[Check]:
    memory.vault.indexing.refresh()
    index = memory.vault.indexing.index()
    differing = []
    for path, indexed in index.files().items():
        try:
            if memory.vault.folder.read(path).revision != indexed.revision:
                differing.append(path)
        except (NoteNotFound, NoteUnreadable):
            differing.append(path)
    if differing:
        yield Check(
            "index equals notes",
            "fail",
            f"differs for {_some(differing)}",
            "vault-memory doctor --fix",
        )
    else:
        yield Check(
            "index equals notes",
            "ok",
            "every note was read and compared by its SHA-256",
            "",
        )


def _parked(memory: "VaultMemory") -> Iterator[Check]:
    for path, (reason, _) in memory.vault.indexing.index().parked().items():
        fix = (
            f"vault-memory index {path}"
            if reason == ENDED_TWICE
            else "split it into smaller notes"
        )
        yield Check("parked", "warn", f"`{path}` is not read: {reason}", fix)


def _fact_lines(memory: "VaultMemory") -> Iterator[Check]:
    """Lines of fact pages that state no fact: they are kept, but nothing reads them."""
    for path in memory.vault.indexing.index().files():
        place = memory.layout.place(path)
        if place is not None and place.kind == "facts":
            odd = fact.unread_lines(document.parse(memory.vault.folder.read(path).raw))
            if odd:
                yield Check(
                    "facts",
                    "warn",
                    f"{len(odd)} lines of `{path}` state no fact: {_some(odd)}",
                    "a fact is written as `- predicate: object (since 2026-01-31)` below a heading with its subject",
                )


def _past(memory: "VaultMemory") -> Iterator[Check]:
    """Was the vault restored from a backup? Was the audit log edited?"""
    older = memory.edits.reverted_notes()
    if len(older) >= REVERTED_NOTES:
        yield Check(
            "earlier versions",
            "warn",
            f"{len(older)} notes went back to earlier versions: {_some(sorted(older))}",
            "the newer ones are kept: `vault-memory history NOTE` lists them, `vault-memory restore NOTE REVISION`"
            " brings one back",
        )
    for note, bad in memory.edits.audit_gaps().items():
        problem = "records were removed"
        if bad:
            problem = f"{bad} lines are not records"
        yield Check(
            "audit",
            "warn",
            f"the audit log of `{note}` has a gap: {problem}",
            "the missing changes cannot be undone; `vault-memory history` shows the versions that are kept",
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
    for group in clashes(listing.entries):
        yield Check(
            "names",
            "warn",
            f"{_some(list(group))} are one name on some systems",
            "rename all but one",
        )
    for people in twins((*people_in(memory.root), *_users(memory))):
        yield Check(
            "names",
            "warn",
            f"the people {_some(list(people))} cannot be told apart",
            "rename all but one",
        )
    for path in listing.entries:
        if reason := awkward(path.rpartition("/")[2]):
            yield Check("names", "warn", f"`{path}`: {reason}", "rename it")
    for path, reason in listing.unknown.items():
        yield Check("names", "warn", f"`{path}` cannot be looked at: {reason}", "")
    if listing.copies:
        yield Check(
            "conflict copies",
            "warn",
            f"{_some(sorted(listing.copies))} wait for you",
            "`vault-memory conflicts` shows and settles them",
        )
    bot_folders = bots(listing.entries)
    if len(bot_folders) > 1 and not memory.vault.config.layout.bot:
        yield Check(
            "bots",
            "warn",
            f"folders of {_some(sorted(bot_folders))} are all read",
            "set `bot` in [layout]",
        )


def _users(memory: "VaultMemory") -> Iterator[str]:
    """People that tokens name, and the person of the layout if it has notes at the root of the vault."""
    yield from (token.user for token in memory.vault.config.serve.tokens)
    if (memory.root / "USER.md").exists():
        yield memory.layout.user


def _embedder(memory: "VaultMemory") -> Iterator[Check]:
    if memory.vault.config.embedding.kind == "off":
        yield Check("embedder", "ok", "switched off: search works by keywords", "")
    elif reason := embedders.available(memory.vault.config.embedding):
        is_local = memory.vault.config.embedding.kind != "api"
        fix = "pip install 'vault-memory[onnx]'" if is_local else "see [embedding]"
        yield Check("embedder", "warn", f"search works by keywords only: {reason}", fix)
    else:
        embedders.check_files(memory.vault.config.embedding, vault=memory.root)
        yield Check(
            "embedder",
            "ok",
            f"{memory.vault.config.embedding.kind}, model {memory.vault.config.embedding.model}",
            "",
        )


def _brain(memory: "VaultMemory") -> Iterator[Check]:
    settings = memory.vault.config.brain
    if settings.kind == "rules":
        yield Check(
            "brain",
            "ok",
            "no language model: what is worth remembering is found by phrases",
            "",
        )
    elif reason := factory.brain_trouble(settings, vault=memory.root):
        yield Check(
            "brain",
            "warn",
            f"phrases stand in for the language model: {reason}",
            "see [brain]",
        )
    else:
        yield Check("brain", "ok", f"{settings.kind} answers", "")


def _watcher(memory: "VaultMemory") -> Iterator[Check]:
    if reason := mounts.watchable(memory.root):
        yield Check("watcher", "warn", f"changes are found by polling: {reason}", "")
    else:
        yield Check("watcher", "ok", "the system tells of changes", "")


def _sync(memory: "VaultMemory") -> Iterator[Check]:
    """The state of sync on this device, without a request to the server."""
    remote = memory.vault.config.remote
    if not remote.url:
        yield Check("sync", "ok", "no remote is set up", "")
        return
    other_clients.refuse_other_clients(memory.root)
    remote_password.password_of(remote, memory.vault.environment, memory.root)
    standing = status.read_status(memory.vault.state.path)
    for error in standing.errors:
        about = f"`{error.path}`: " if error.path else ""
        yield Check(
            "sync", "warn", f"{about}{error.reason}", "vault-memory remote test"
        )
    if standing.held:
        yield Check(
            "sync",
            "warn",
            standing.held[0].reason,
            "look, then `vault-memory sync --approve-deletes`",
        )
    if not (standing.errors or standing.held):
        last = (
            f"last in step {standing.last_good}"
            if standing.last_good
            else "not synced yet"
        )
        yield Check("sync", "ok", f"{remote.url}: {last}", "")


def _hooks(memory: "VaultMemory") -> Iterator[Check]:
    """Whether a hook failed recently. The host of a hook does not show it."""
    log = memory.vault.state.hook_log
    with suppress(OSError):
        if time.time() - log.stat().st_mtime < RECENT_SECONDS:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
            yield Check(
                "hooks",
                "warn",
                f"a hook failed recently: {''.join(last)}",
                f"see {log}",
            )


_CHECKS = (
    _vault,
    _state_folder,
    _index,
    _other_databases,
    _index_equals_notes,
    _parked,
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


def _some(names: list[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names[:MOST_NAMES])
    if len(names) > MOST_NAMES:
        listed += f" and {len(names) - MOST_NAMES} more"
    return listed
