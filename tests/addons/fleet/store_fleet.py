"""A fleet of processes on a real database and a store of S3, and the recorder of what they acknowledged."""

import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.addons.fleet import host_process
from tests.addons.fleet.fleets import START, USER
from tests.addons.fleet.host_process import HostPlan
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.remote.servers.s3_stores import S3Store
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.ledger.contract import Holder, Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.visit import Visit
from vault_memory.remote.remote_errors import RemoteChanged

HOSTS = ("one", "two", "three", "four")
LEASE_SECONDS = 1.0
PAUSE_SECONDS = 1.2 * LEASE_SECONDS
ENOUGH = 3
"""operations that are acknowledged between two faults"""
SHORTEST, LONGEST = 0.2, 8.0
"""seconds between two faults, and of a pause"""
KEEP_WORKING = 2
"""hosts that are not paused at any time"""
FAULTS = ("kill", "kill at a write", "lose scratch", "pause", *3 * ["pause at a write"])


@dataclass
class Diary:
    """What the recorder received before each fault."""

    acknowledged: list[tuple[str, AcknowledgedOp]] = field(default_factory=list)
    """with the vault of each operation"""
    saved: list[tuple[str, str]] = field(default_factory=list)
    """lines that a person saved in a home"""
    faults: Counter[str] = field(default_factory=Counter)
    events: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass
class RunningHost:
    """A process of a host, and the channel on which it reports."""

    plan: HostPlan
    process: BaseProcess
    reports: Connection
    paused: float = 0.0
    """when the process was paused; 0: it is not"""
    flushes: int = 0
    """how many the others had brought home by then"""

    @property
    def is_working(self) -> bool:
        return not self.paused and not self.plan.fault.exists()


class StoreFleet:
    """Vaults in a store, their ledger, and processes that end or pause at any time."""

    def __init__(
        self,
        folder: Path,
        postgres: PostgresServer | None,
        store: S3Store,
        *,
        vaults: int = 1,
        fenced: bool = True,
        seed: int = 0,
    ) -> None:
        """Without `postgres`, the ledger is a file of SQLite."""
        self.store = store
        self.database = f"sqlite:///{folder}/ledger.sqlite"
        if postgres is not None:
            self.database = postgres.database()
        self.ledger = self.open_ledger(create=True)
        self.homes: dict[str, str] = {}
        for number in range(vaults):
            self._add_vault(f"vault-{number}")
        self.plan = HostPlan(
            "", folder, self.database, store.endpoint, tuple(self.homes), "", LEASE_SECONDS, fenced
        )
        self.diary = Diary()
        self._chance = random.Random(seed)
        self._numbers = itertools.count(1)
        self._context = multiprocessing.get_context("forkserver")
        os.environ[host_process.ENDPOINT] = store.endpoint
        self._context.set_forkserver_preload(["tests.addons.fleet.warm_host"])
        self._hosts: dict[str, RunningHost] = {}
        self.person = {vault: store.open(home) for vault, home in self.homes.items()}

    def open_ledger(self, **options: Any) -> Ledger:
        """Open the ledger as one more host."""
        options = {"lease_seconds": LEASE_SECONDS, **options}
        return host_process.open_ledger(self.database, **options)

    def close(self) -> None:
        """End all hosts."""
        for host in self._hosts.values():
            host.process.kill()
        for host in self._hosts.values():
            host.process.join()
        for person in self.person.values():
            person.close()
        self.ledger.close()

    # --- Faults ---

    def play(self, rounds: int) -> None:
        """Run all hosts, with one fault a round, while a person saves; then end them."""
        for name in HOSTS:
            self._start(name)
        self._listen()
        for _ in range(rounds):
            self._fault()
            self._save()
            self._listen()
        for host in self._hosts.values():
            self._end(host)

    def _fault(self) -> None:
        working = [host for host in self._hosts.values() if host.is_working]
        if not working:
            return
        host = self._chance.choice(working)
        fault = self._chance.choice(FAULTS)
        if fault.startswith("pause") and len(working) <= KEEP_WORKING:
            fault = "kill"
        self.diary.faults[fault] += 1
        match fault:
            case "pause":
                self._signal(host, signal.SIGSTOP)
                self._note_pause(host)
            case "pause at a write":
                host.plan.fault.write_text(str(int(signal.SIGSTOP)))
            case "kill at a write":
                host.plan.fault.write_text(str(int(signal.SIGKILL)))
            case _:
                self._end(host)
                if fault == "lose scratch":
                    shutil.rmtree(host.plan.scratch, ignore_errors=True)
                self._start(host.plan.name)

    def _listen(self) -> None:
        """Record reports until the hosts that work have done enough."""
        began = time.monotonic()
        done = len(self.diary.acknowledged)
        while (seconds := time.monotonic() - began) < LONGEST:
            if seconds > SHORTEST and len(self.diary.acknowledged) >= done + ENOUGH:
                return
            self._wake_hosts()
            channels = {host.reports: host for host in self._hosts.values()}
            for channel in wait(list(channels), timeout=0.02):
                assert isinstance(channel, Connection)
                if not self._record(channel):
                    host = channels[channel]
                    self._end(host)
                    self._start(host.plan.name)

    def _wake_hosts(self) -> None:
        """Wake those whose lease has run out, once another host has flushed meanwhile."""
        for host in self._hosts.values():
            is_stopped = _state_of(host.process) == "T"
            if is_stopped and not host.paused:
                self._note_pause(host)
            seconds = time.monotonic() - host.paused
            is_late = seconds > LONGEST or self._flushes > host.flushes
            if host.paused and seconds > PAUSE_SECONDS and is_late:
                host.paused = 0.0
                self._signal(host, signal.SIGCONT)

    def _note_pause(self, host: RunningHost) -> None:
        host.paused = time.monotonic()
        host.flushes = self._flushes

    @property
    def _flushes(self) -> int:
        return self.diary.events["flushed", ""]

    def _record(self, channel: Connection) -> bool:
        """Record one report. Returns whether the channel is open."""
        try:
            kind, report = channel.recv()
        except (EOFError, ConnectionError):
            return False
        if kind == "acknowledged":
            self.diary.acknowledged.append(report)
        else:
            self.diary.events[kind, report] += 1
        return True

    def _start(self, name: str) -> None:
        seed = f"{name}-{next(self._numbers)}"
        plan = replace(self.plan, name=name, seed=seed)
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=host_process.main, args=(plan, sender), daemon=True)
        process.start()
        sender.close()
        self._hosts[name] = RunningHost(plan, process, receiver)

    def _end(self, host: RunningHost) -> None:
        """Kill a host. What it reported before counts."""
        host.process.kill()
        host.process.join()
        while self._record(host.reports):
            pass
        host.reports.close()
        host.plan.fault.unlink(missing_ok=True)

    def _signal(self, host: RunningHost, number: signal.Signals) -> None:
        assert host.process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(host.process.pid, number)

    def _save(self) -> None:
        """A person adds a line in a home, as any program does: what it replaces, it names."""
        vault = self._chance.choice(list(self.homes))
        person = self.person[vault]
        line = f"- save-{next(self._numbers)}- of ann\n"
        with suppress(RemoteChanged):
            note = person.get(USER, max_bytes=1 << 20)
            text = note.raw.decode().replace("## Work\n", f"## Work\n\n{line}", 1)
            person.put(USER, text.encode(), expected=note.etag)
            self.diary.saved.append((vault, line))

    # --- Afterwards ---

    def visit(self, vault: str, host: str) -> Visit:
        """Visit a vault in this process."""
        settings = host_process.visit_settings(replace(self.plan, name=host))
        return Visit.open(self._lease(vault, host), self.ledger, settings)

    def settle(self) -> None:
        """Visit each vault as hosts do that nothing disturbs."""
        for name in ("last", "one"):
            plan = replace(self.plan, name=name)
            settings = host_process.visit_settings(plan)
            for vault in self.homes:
                now = datetime.now(UTC)
                for _ in range(2):
                    lease = self._lease(vault, name)
                    now += timedelta(minutes=3)
                    Visit.open(lease, self.ledger, settings, now=now).leave(now)

    def notes(self, vault: str) -> dict[str, str]:
        """All that people and their programs see in a home."""
        person = self.person[vault]
        return {
            entry.path: person.get(entry.path, max_bytes=1 << 24).raw.decode()
            for entry in person.list(deep=True).entries
            if not entry.is_folder and not entry.path.startswith(".")
        }

    def damages(self) -> list[str]:
        """What of the diary is in the homes not at all, or twice."""
        return [
            fault for vault in self.homes for fault in self._damages_of(vault, self.notes(vault))
        ]

    def _damages_of(self, vault: str, notes: dict[str, str]) -> list[str]:
        logs = {path: text for path, text in notes.items() if ".audit." in path}
        # Also a proposal in the inbox counts: no acknowledged line is proposed once more.
        others = "".join(text for path, text in notes.items() if path not in logs)
        lines = [line for text in logs.values() for line in text.splitlines()]
        ids = Counter(json.loads(line)["id"] for line in lines)
        faults = [f"audit record {id_} {count} times" for id_, count in ids.items() if count > 1]
        faults += [f"conflict {path}" for path in notes if "conflict" in path.lower()]
        faults += [f"lost {line}" for line in START.splitlines() if line not in others]
        for place, line in self.diary.saved:
            if place == vault and others.count(line) != 1:
                faults.append(f"save {others.count(line)} times: {line}")
        for place, op in self.diary.acknowledged:
            if place == vault:
                faults += self._damages_of_op(op, others, list(ids))
        words = Counter(word for word in others.split() if word.startswith("word-"))
        faults += [f"{count} times {word}" for word, count in words.items() if count > 1]
        return faults

    def _damages_of_op(self, op: AcknowledgedOp, text: str, ids: list[str]) -> list[str]:
        faults = []
        count = text.count(f"word-{op.op_id}-")
        if count != 1:
            faults.append(f"{op.call} {count} times: {op.op_id}")
        if op.call != "record":
            records = sum(id_.startswith(op.prefix) for id_ in ids)
            if records != 1:
                faults.append(f"{op.call} has {records} audit records: {op.op_id}")
        return faults

    # --- Setting up ---

    def _add_vault(self, name: str) -> None:
        home = self.store.new_home()
        vault = str(uuid4())
        self.ledger.add(vault, name, home)
        self.homes[vault] = home
        remote = self.store.open(home)
        remote.put(USER, START.encode(), expected=None)
        remote.close()

    def _lease(self, vault: str, host: str) -> Lease:
        """Wait for the lease of a host that was killed to run out."""
        while isinstance(lease := self.ledger.take(vault, host, ""), Holder):
            time.sleep(0.05)
        return lease


def _state_of(process: BaseProcess) -> str:
    """The state of a process as the kernel has it, e.g. T: stopped."""
    with suppress(OSError):
        text = Path(f"/proc/{process.pid}/stat").read_text()
        return text.rpartition(")")[2].split()[0]
    return ""
