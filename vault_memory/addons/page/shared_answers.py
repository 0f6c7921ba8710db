"""Answers that the requests of one page share: what waits, the last examination, the state."""

import os
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from vault_memory.addons import table
from vault_memory.addons.page import markdown
from vault_memory.addons.page.events import News
from vault_memory.addons.page.wording import note_title
from vault_memory.api.checks import some
from vault_memory.api.daemon_client import DaemonRefused, ask
from vault_memory.errors import NoteNotFound, NoteUnreadable

if TYPE_CHECKING:
    from vault_memory.addons.page.outside_programs import ProgramGate
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.edits.reports import Check


Level = Literal["good", "warn", "bad", ""]
SYNC_WORDS = {
    "ok": "in step with the server",
    "working": "syncing",
    "waiting": "waits",
    "held": "holds deletions",
    "stopped": "stopped",
    "off": "off",
}


class VaultState(NamedTuple):
    """The state of the vault, for people. What waits for a decision is no part of it."""

    level: Level
    word: str
    details: tuple[str, ...]
    """sentences"""


class Counts(NamedTuple):
    """What waits for a person."""

    proposals: int
    conflicts: int


def describe(memory: "VaultMemory", stale_notes: Collection[str]) -> VaultState:
    """Returns the state; `stale_notes` are those that the session may see."""
    vitals = vitals_of(memory)
    sync = vitals["sync"] if vitals else memory.sync.status()
    level: Level = "good"
    word = "Live"
    semantic = (vitals or memory.searcher.freshness()._asdict())["semantic"]
    details = [f"Search by meaning: {semantic}."]
    if stale_notes:
        names = some(sorted(stale_notes)).replace("`", "")
        details.append(f"Not read yet: {names}.")
    if sync and sync["state"] not in ("ok", "working", "off"):
        level, word = "warn", "Sync waits"
        details.append(f"Sync {SYNC_WORDS[sync['state']]}.")
    if not vitals:
        level, word = "", "Not watching"
        details.append("Not watching: saves appear when you reload.")
    elif not vitals["watcher"].get("healthy", True):
        level, word = "bad", "Vault not reachable"
        details.append(f"The watcher: {vitals['watcher'].get('reason', '')}.")
    return VaultState(level, word, tuple(details))


def vitals_of(memory: "VaultMemory") -> Any:
    """Returns what the daemon says of itself; None without one."""
    try:
        return ask(memory.vault.state.socket, "vitals", {})
    except DaemonRefused:
        # Fault: an older daemon refuses what it does not know. The page works without.
        return None


class MachineSight(NamedTuple):
    """What a page says of the machine on which it runs."""

    hosts: bool = True
    """the programs that `install` connects"""
    folder: str = ""
    """where the vault is; empty where other machines reach the page"""
    reopen: Callable[[], None] = lambda: None
    """opens the vault again, with its new configuration"""
    undo: Callable[[], None] | None = None
    """takes back that the folder became a vault on this page"""


THIS_MACHINE = MachineSight()
MOST_SEARCHES = 10_000
"""Searches whose times are kept"""
KEPT_SECONDS = 2.0
"""How long an answer is kept without a daemon that reports changes"""
MOST_MERGES = 50
"""Notices that can show what was merged"""


class Examination(NamedTuple):
    """What `doctor` found."""

    ts: str
    """ISO 8601"""
    checks: "Sequence[Check]"


class SearchTimes(NamedTuple):
    """In milliseconds."""

    median: float
    slowest: float


class _KeptAnswer(NamedTuple):
    made_at: float
    change: str
    value: Any


class SharedAnswers:
    """What costs too much for each request. Any thread may use it."""

    def __init__(
        self,
        news: Callable[[], News] = News,
        clock: Callable[[], float] = time.monotonic,
        machine: MachineSight = THIS_MACHINE,
        connector: "ProgramGate | None" = None,
    ) -> None:
        """`news` returns what the daemon has reported."""
        self._news = news
        self._clock = clock
        self.machine = machine
        self.connector = connector
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, tuple[str, ...]], _KeptAnswer] = {}
        self._written_after: str | None = None
        """the newest change before the last write of this page"""
        self.examination: Examination | None = None
        """the last one of this process"""
        self._from_disk: dict[str, str] = {}
        self.searches: deque[float] = deque(maxlen=MOST_SEARCHES)
        """how long they took, in milliseconds"""

    def search_times(self) -> SearchTimes | None:
        """Returns how long searches on this page took; None without one."""
        times = sorted(self.searches)
        return SearchTimes(median(times), times[-1]) if times else None

    def keep_examination(self, checks: "Sequence[Check]") -> None:
        """Keeps what `doctor` found just now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.examination = Examination(now, checks)

    def keep_from_disk(self, record_id: str, diff: str) -> None:
        """Keeps what others had saved meanwhile, for the notice of a record."""
        with self._lock:
            self._from_disk[record_id] = diff
            # Fault: a page that runs for months would keep the diff of each merge.
            if len(self._from_disk) > MOST_MERGES:
                del self._from_disk[next(iter(self._from_disk))]

    def from_disk(self, record_id: str) -> str:
        """Returns the diff that was kept for a record; empty without one."""
        return self._from_disk.get(record_id, "")

    def kept(self, kind: str, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """Returns an answer of this kind for a key. It is made again when it may be another one.

        Answers of the kind `conflicts` depend on conflict copies alone, and those of the kind
        `records` are made again each time while no daemon reports changes.
        """
        news = self._news()
        change = news.copy_change if kind == "conflicts" else news.change
        now = self._clock()
        with self._lock:
            stored = self._answers.get((kind, key))
        if stored is not None and stored.change == change:
            # Without news of each change, only the time says that an answer is old.
            seconds = 0.0 if kind == "records" else KEPT_SECONDS
            if news.is_complete or now - stored.made_at < seconds:
                return stored.value
        value = make()
        with self._lock:
            self._answers[kind, key] = _KeptAnswer(now, change, value)
        return value

    def forget(self) -> None:
        """Makes each answer again at the next request: this page has changed something."""
        with self._lock:
            self._answers.clear()
        self._written_after = self._news().change

    def is_fresh(self) -> bool:
        """Returns whether the daemon has indexed each note as it is."""
        news = self._news()
        # Fault: what this page wrote just now, the daemon may not have seen yet.
        return news.is_complete and news.change != self._written_after


# --- First run ---


def host_rows(
    memory: "VaultMemory", machine: MachineSight, scopes: Sequence[str]
) -> list[dict[str, str]]:
    """Return the programs on this machine that `install` connects, else a placeholder.

    `wired` is `yes`, `partly` or `no`; `last_ran` is empty when it never ran.
    """
    checks = table.optional_part("hosts.host_checks")
    if checks is None or not machine.hosts:
        return []
    statuses = [status for status in checks.statuses(memory) if not status.project]
    present = [status for status in statuses if any(is_here(file.path) for file in status.files)]
    if not present:
        present = [replace(statuses[0], host="HOST")]
    vault = f"--vault {shlex.quote(machine.folder)} " if machine.folder else ""
    user = shlex.quote(_person_of(memory, scopes))
    return [
        {
            "name": status.host,
            "command": f"vault-memory {vault}install {status.host} --user {user}",
            "wired": status.wired,
            "last_ran": status.last_started.isoformat() if status.last_started else "",
        }
        for status in present
    ]


def is_here(file: Path) -> bool:
    """Return whether the program with this configuration file has been on this machine."""
    home = Path.home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = (home, settings, home / "Library" / "Application Support")
    own = (path for path in (file, *file.parents) if path.parent in shared)
    return next(own, file.parent).exists()


class FirstRun(NamedTuple):
    """What a vault shows before a bot has talked to anybody in it."""

    notes: int
    """notes of the session that are memory"""
    layout: str
    """empty: the built-in folders of people and channels"""
    meaning: str
    """search by meaning: `ready`, `warming` or `off`"""
    embedded: int
    chunks: int
    """of which so many are embedded; 0 for a session of some people"""
    hosts: Sequence[dict[str, str]]
    """empty for a session of some people"""
    question: str
    """what could be asked of the newest note; empty without notes"""


def first_run(
    memory: "VaultMemory", scopes: Sequence[str], machine: MachineSight, *, sees_all: bool
) -> FirstRun | None:
    """Return what a vault shows; None as soon as a turn was recorded in one of the scopes."""
    memory.vault.indexing.refresh()
    index = memory.vault.indexing.index()
    if any(is_turn and scope in scopes for scope, is_turn in index.speakers()):
        return None
    files = index.files()
    # To list the notes of all scopes costs twice as much as their files.
    seen = files if sees_all else {info.note for info in memory.notes(scopes)}
    newest = [(files[path].mtime_ns, path) for path in files if path in seen]
    meaning, embedded, chunks = meaning_of(memory)
    return FirstRun(
        notes=len(newest),
        layout=memory.vault.layout_report(with_counts=False).name,
        meaning=meaning,
        embedded=embedded if sees_all else 0,
        chunks=chunks if sees_all else 0,
        hosts=host_rows(memory, machine, scopes) if sees_all else (),
        question=question_about(memory, max(newest, default=(0, ""))[1]),
    )


def meaning_of(memory: "VaultMemory") -> tuple[str, int, int]:
    """Return the state of search by meaning, and how much of how much is embedded."""
    _, chunks = memory.vault.indexing.index().counts()
    semantic = (vitals_of(memory) or memory.searcher.freshness()._asdict())["semantic"]
    if semantic == "warming":
        embedded = max(memory.searcher.stats()["vectors"].values(), default=0)
        return semantic, min(embedded, chunks), chunks
    # Texts that are in two notes are embedded once.
    return semantic, chunks if semantic == "ready" else 0, chunks


def question_about(memory: "VaultMemory", path: str) -> str:
    """Return what could be asked of a note, by its heading `#` or its name; empty without a path."""
    if not path:
        return ""
    title = note_title(path)
    # Fault: a program may remove the newest note at this moment.
    with suppress(NoteNotFound, NoteUnreadable):
        title = markdown.title_of(memory.read(path).text) or title
    return f"What do I know about {title}?"


def _person_of(memory: "VaultMemory", scopes: Sequence[str]) -> str:
    """Return the one person of these scopes, else the owner; a placeholder for several people."""
    people = [scope.removeprefix("user:") for scope in scopes if scope.startswith("user:")]
    people = people or [memory.vault.owner]
    return people[0] if len(people) == 1 and people[0] else "NAME"
