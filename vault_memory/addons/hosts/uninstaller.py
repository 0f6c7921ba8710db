"""Takes what is ours away from a machine: what `uninstall` shows, does and answers.

Nothing goes before all of these hold: no process of ours runs, and each write and each turn that
waits is in its vault. The entries of other programs go first, so that no hook begins meanwhile.
"""

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from vault_memory.addons.hosts import programs, projects, traces
from vault_memory.addons.hosts.installer import FileChange
from vault_memory.addons.hosts.traces import DROP, PURGE, Kind, OwnUnit, Trace, VaultTraces
from vault_memory.admin import service_units
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import state_file
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.vault import state_dir
from vault_memory.vault.state_dir import StateFolder

Outcome = Literal["found", "removed", "stays", "refused", "failed"]
Disconnect = Callable[[str, Path | None, bool], Sequence[FileChange]]
"""Takes our entries out of a host, in a project or everywhere; the last argument: only look"""
STOP_SECONDS = 90
SETTLE_SECONDS = 3
PAUSE_SECONDS = 0.2
AGAIN = "run `vault-memory uninstall` again"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a thing of ours, or would become of it."""

    kind: Kind
    path: str
    title: str
    outcome: Outcome
    why: str = ""


def is_refused(rows: Iterable[Row]) -> bool:
    """Whether something prevents the removal, or prevented it."""
    return any(row.outcome in ("refused", "failed") for row in rows)


class Uninstaller:
    """What is ours on this machine. With `purge` also what is nowhere else."""

    def __init__(
        self, environment: Mapping[str, str], disconnect: Disconnect, *, purge: bool
    ) -> None:
        self._environment = environment
        self._disconnect = disconnect
        self._purge = purge
        self._roots = traces.roots(environment)
        self._states = [state for root in self._roots for state in traces.vault_states(root)]
        self._rows = {
            state: Row("state", str(state.folder), state.title, "found") for state in self._states
        }

    # --- The list ---

    def found(self) -> list[Row]:
        """Return what would be removed, what stays, and what prevents it."""
        units = self._units()
        # A service is stopped before the removal, so its process is in nobody's way.
        rows = [] if units else self._processes()
        rows += [self._stop(unit, only_look=True) for unit in units]
        rows += self._programs(only_look=True)
        rows += [self._settled_row(state) for state in self._states]
        rows += [self._row_of(trace) for trace in self._traces()]
        return rows

    def _settled_row(self, state: VaultTraces) -> Row:
        waiting = ", ".join(state.unsettled())
        row = self._rows[state]
        if not waiting:
            return row
        if state.is_here():
            return replace(row, why=f"first to be put into its notes: {waiting}")
        if self._purge:
            return replace(row, why=f"is away, so these are given up: {waiting}")
        return replace(row, outcome="refused", why=_away(state, waiting))

    def _units(self) -> list[OwnUnit]:
        ids = [state.folder.name for state in self._states]
        for root in self._roots:
            ids += [trace.path.name for trace in traces.shared_traces(root, keeps_states=False)]
        return list(traces.units(self._environment, ids))

    def _processes(self) -> list[Row]:
        return [
            Row("process", str(process.pid), process.command, "refused", f"end it, and {AGAIN}")
            for process in traces.running(self._roots)
        ]

    def _traces(self) -> Iterator[Trace]:
        """Yield the files and folders of ours, what is in a folder before the folder."""
        yield from traces.completions(self._environment)
        keeps = False
        for state in self._states:
            for trace in state.traces(purge=self._purge):
                keeps = keeps or bool(trace.stays)
                yield trace
        for root in self._roots:
            yield from traces.shared_traces(root, keeps_states=keeps)
        yield from traces.cache_traces(self._environment)

    def _row_of(self, trace: Trace) -> Row:
        outcome: Outcome = "stays" if trace.stays else "found"
        return Row(trace.kind, str(trace.path), trace.title, outcome, trace.stays)

    # --- The removal ---

    def carry_out(self, listed: Sequence[Row]) -> list[Row]:
        """Remove what is listed, and nothing else. Returns what became of it."""
        rows: list[Row] = []
        with ExitStack() as locks:
            phases: tuple[Callable[[], Iterable[Row]], ...] = (
                lambda: [self._stop(unit) for unit in self._units()],
                self._processes,
                lambda: self._lock(locks),
                self._prepare,
                lambda: self._programs(only_look=False),
                # Fault: a hook may have begun before its entry was taken out.
                self._prepare,
                lambda: self._remove_listed({row.path for row in listed}),
            )
            for phase in phases:
                try:
                    rows += phase()
                except OSError as error:
                    file, reason = str(error.filename or ""), error.strerror or str(error)
                    rows.append(Row("state", file, "", "failed", reason))
                if is_refused(rows):
                    break
        return rows

    def _stop(self, unit: OwnUnit, *, only_look: bool = False) -> Row:
        """Remove a unit, and stop its service."""
        row = Row("service", str(unit.place.unit), "", "found" if only_look else "removed")
        try:
            report = service_units.uninstall(unit.place, unit.owner, dry_run=only_look)
        except VaultMemoryError as error:
            return replace(row, outcome="refused", why=f"{error.message}; {error.hint}")
        if only_look:
            if os.access(unit.place.folder, os.W_OK):
                return row
            command = f"sudo vault-memory service uninstall --name {unit.place.name}"
            return replace(row, outcome="refused", why=f"run `{command}`, and {AGAIN}")
        troubles = [trouble for command in report.next if (trouble := _run(command))]
        return replace(row, why="; ".join(troubles))

    def _prepare(self) -> Iterator[Row]:
        """Put what waits into the notes of each vault. Yields what prevents it."""
        for state in self._states:
            row = replace(self._rows[state], outcome="refused")
            waiting = state.unsettled()
            if waiting and state.is_here():
                trouble = self._settle(state)
                # Outside of Linux nobody says whether an editor has a note open.
                if waiting := state.unsettled(late=not self._purge):
                    yield replace(row, why=f"{', '.join(waiting)}: {trouble or 'in use'}; {AGAIN}")
            elif waiting and not self._purge:
                yield replace(row, why=_away(state, ", ".join(waiting)))

    def _lock(self, locks: ExitStack) -> Iterator[Row]:
        """Keep daemons, hosts and pages away. Yields which of them run."""
        for file in self._lock_files():
            try:
                locks.enter_context(state_file.lock(file, patience=0))
            except (state_file.LockTaken, OSError) as error:
                why = getattr(error, "strerror", None) or f"a process holds it; end it, and {AGAIN}"
                yield Row("process", str(file), "a lock", "refused", why)

    def _lock_files(self) -> list[Path]:
        # A vault that never had a daemon may get one now.
        files = [StateFolder(state.folder).lock_file for state in self._states]
        folders = [folder for root in self._roots for folder in traces.host_folders(root)]
        folders += [state.folder for state in self._states]
        more = (folder / name for folder in folders for name in traces.LOCKS)
        return [*files, *(file for file in more if file.exists())]

    def _settle(self, state: VaultTraces) -> str:
        """Finish the writes of a vault, and record its turns. Returns what prevents it."""
        # Hooks that cannot use the folder of the user have another one.
        environment = {**self._environment, "VAULT_MEMORY_STATE": str(state.folder.parent)}
        try:
            with VaultMemory.open(state.vault, environment=environment, marks=False) as memory:
                memory.conversations.take_dropped()
                deadline = time.monotonic() + SETTLE_SECONDS
                memory.edits.process_due()
                # A file that a write has displaced is looked at again after a moment.
                while memory.edits.is_busy() and time.monotonic() < deadline:
                    time.sleep(PAUSE_SECONDS)
                    memory.edits.process_due()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            return str(error)
        return ""

    def _programs(self, *, only_look: bool) -> list[Row]:
        rows = []
        # First the projects: what they share goes with the last of them.
        places = [
            (host, project.folder)
            for state in self._states
            for project in projects.Projects(state.folder).all()
            for host in project.hosts
            if host in programs.names()
        ]
        for host, folder in [*places, *((name, None) for name in programs.names())]:
            title = f"our entries in {host}"
            try:
                changes = self._disconnect(host, folder, only_look)
            except VaultMemoryError as error:
                why = f"{error.message}; {error.hint}"
                rows.append(Row("program", host, title, "refused" if only_look else "failed", why))
                continue
            outcome: Outcome = "found" if only_look else "removed"
            rows += [
                Row("program", change.file, title, outcome) for change in changes if change.changed
            ]
        return rows

    def _remove_listed(self, listed: Set[str]) -> list[Row]:
        rows = [
            self._remove(trace)
            for trace in list(self._traces())
            # What the list did not show stays, but for files of locks in a folder of it.
            if not listed.isdisjoint((str(trace.path), str(trace.path.parent)))
        ]
        rows += [self._remove_folder(state) for state in self._states]
        for folder in filter(os.path.isdir, self._folders()):
            # Fault: a folder that the user named may have other files.
            with suppress(OSError):
                os.rmdir(folder)
        return rows + [row for root in self._roots for row in self._foreign(root)]

    def _remove(self, trace: Trace) -> Row:
        row = self._row_of(trace)
        if trace.stays:
            return row
        # Fault: without it, the next call would not know what is left.
        if trace.path.name == traces.PLACE and len(os.listdir(trace.path.parent)) > 1:
            return replace(row, outcome="stays", why="not all of the others are removed")
        try:
            _remove_entry(trace.path, is_empty=trace.path.name == DROP and not trace.title)
        except OSError as error:
            return replace(row, outcome="failed", why=error.strerror or str(error))
        return replace(row, outcome="removed")

    def _remove_folder(self, state: VaultTraces) -> Row:
        """Remove the folder of a state when nothing is left in it."""
        row = replace(self._rows[state], outcome="removed")
        try:
            os.rmdir(state.folder)
        except OSError as error:
            staying = {trace.path for trace in state.traces(purge=self._purge) if trace.stays}
            # Fault: a hook that was about to end may have put words into the folder meanwhile.
            left = sorted({*state.folder.iterdir()} - staying - {state.folder / traces.PLACE})
            if staying and not left:
                return replace(row, outcome="stays", why="it has what is nowhere else")
            names = ", ".join(path.name for path in left)
            return replace(row, outcome="failed", why=f"{error.strerror}: {names}; {AGAIN}")
        return row

    def _folders(self) -> list[Path]:
        """Return the folders of ours that have no content of their own."""
        models = traces.models(self._environment)
        hosts = [root / traces.HOSTS for root in self._roots]
        return [*hosts, *self._roots, models, models.parent, traces.zsh_folder(self._environment)]

    def _foreign(self, root: Path) -> Iterator[Row]:
        """Yield a folder of states that has files which are not ours."""
        # A person may have named a folder that has files of theirs.
        names = set(os.listdir(root)) if root.exists() else set()
        names -= {traces.FLEET, state_dir.PLACES, *(state.folder.name for state in self._states)}
        if names:
            why = f"these are not ours: {', '.join(sorted(names))}"
            yield Row("state", str(root), "", "stays", why)


def _away(state: VaultTraces, waiting: str) -> str:
    folder = state.vault or "its folder"
    return (
        f"its vault is away, and these are in no note yet: {waiting}. Bring `{folder}` back,"
        f" and {AGAIN}; {PURGE.replace('removes it, too', 'gives them up')}"
    )


def _run(command: str) -> str:
    """Run a command of the service manager. Returns what went wrong."""
    # A name of a unit has no letter that means something to a shell.
    try:
        process = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, timeout=STOP_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{command}`: {error}"
    return f"`{command}`: {process.stderr.strip()}" if process.returncode else ""


def _remove_entry(path: Path, *, is_empty: bool = False) -> None:
    """Remove a file, a link or a folder, which may have to be empty but for a lock. Raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(path.parent, flags)
    try:
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(path.name, dir_fd=folder)
        elif is_empty:
            # Fault: a turn that came a moment ago would go with the folder.
            with suppress(FileNotFoundError):
                _remove_entry(path / ".lock")
            os.rmdir(path.name, dir_fd=folder)
        else:
            # It follows no link, and none that another process puts in place meanwhile.
            shutil.rmtree(path.name, dir_fd=folder)
    finally:
        os.close(folder)


# --- The answer ---

_WORDS: Mapping[Outcome, str] = {
    "found": "would remove",
    "removed": "removed",
    "stays": "stays",
    "refused": "in the way",
    "failed": "not removed",
}


def answer(rows: Iterable[Row], *, removed: bool) -> Mapping[str, object]:
    """Return the answer of `uninstall`."""
    return {"items": [asdict(row) for row in rows], "removed": removed}


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each row, what is in one folder together."""
    inside: dict[str, list[str]] = {}
    for row in rows:
        path = Path(row.path)
        word = _WORDS[row.outcome]
        if row.kind == "program":
            word = word.replace("remove", "change")
        if row.kind in ("state", "cache") and row.outcome in ("found", "removed", "stays"):
            why = f" ({row.why})" if row.why else ""
            name = f"{path.name} ({row.title})" if row.title else path.name
            inside.setdefault(f"{word}{why}: in {path.parent}:", []).append(name)
        else:
            details = ": ".join(text for text in (row.path, row.title, row.why) if text)
            yield f"{word}: {details}"
    for heading, names in inside.items():
        yield heading
        yield f"  {', '.join(names)}"
    yield "not touched: notes, and `.vault-memory` and `*.audit.jsonl` beside them"
