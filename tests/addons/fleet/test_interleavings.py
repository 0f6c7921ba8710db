"""Hosts that are killed, paused and woken, homes that are away, and a person who saves at any time.

Nothing is lost, and nothing is there twice.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.addons.fleet.fleets import (
    START,
    USER,
    Faults,
    FaultyLedger,
    Fleet,
    Killed,
    append,
    remember,
    turn,
)
from tests.effort import cases
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.visit import Visit
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.remote.remote_errors import RemoteBusy

HOSTS = st.sampled_from(("one", "two", "three"))
Kind = Callable[[str, str, datetime], AcknowledgedOp]
KINDS: st.SearchStrategy[Kind] = st.sampled_from((append, remember, turn))


class FleetLife(RuleBasedStateMachine):
    """Each host has at most one visit; the newest lease is the only one that is valid."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
        self.fleet = Fleet(self.folder)
        self.visits: dict[str, Visit] = {}
        self.faults = {host: Faults() for host in ("one", "two", "three")}
        self.acknowledged: list[AcknowledgedOp] = []
        self.asked = 0
        self.saved: list[str] = []

    def _visit(self, host: str) -> Visit:
        visit = self.visits.get(host)
        if visit is None:
            visit = self._opened(self.fleet.lease(host), host)
        elif visit.away is not None and not self.faults[host].away:
            # As a host does once the home answers again.
            visit.close()
            visit = self._opened(visit.lease, host)
        self.visits[host] = visit
        return visit

    def _opened(self, lease: Lease, host: str) -> Visit:
        ledger: Any = FaultyLedger(self.fleet.ledger, self.faults[host])
        settings = self.fleet.settings(host, self.faults[host])
        try:
            return Visit.open(lease, ledger, settings, now=self.fleet.now)
        except RemoteBusy as error:
            return Visit.open_away(lease, ledger, settings, error)

    def _drop(self, host: str) -> None:
        self.faults[host].at = -1
        visit = self.visits.pop(host, None)
        if visit is not None:
            visit.close()

    @rule(host=HOSTS, kind=KINDS)
    def acknowledge(self, host: str, kind: Kind) -> None:
        self.asked += 1
        words = f"word-{self.asked:03d} of the bot"
        line = f"- {words}" if kind is append else words
        op = kind(f"op-{self.asked}", line, self.fleet.now)
        self.fleet.pass_by(0.5)
        try:
            self._visit(host).run(op)
            self.acknowledged.append(op)
        except VaultUnavailable:
            # The copy is too old for it. Nothing was done.
            pass
        except (LeaseLost, RemoteBusy, Killed):
            self._drop(host)

    @rule(host=HOSTS)
    def flush(self, host: str) -> None:
        self.fleet.pass_by(1)
        try:
            self._visit(host).flush(self.fleet.now)
        except RemoteBusy:
            pass
        except (LeaseLost, Killed):
            self._drop(host)

    @rule(host=HOSTS)
    def leave(self, host: str) -> None:
        self.fleet.pass_by(1)
        with suppress(LeaseLost, RemoteBusy, Killed):
            self._visit(host).leave(self.fleet.now)
        self._drop(host)

    @rule(host=HOSTS)
    def kill(self, host: str) -> None:
        self._drop(host)

    @rule(host=HOSTS, steps=st.integers(0, 30))
    def kill_later(self, host: str, steps: int) -> None:
        faults = self.faults[host]
        faults.at = faults.count + steps

    @rule(host=HOSTS, is_away=st.booleans())
    def hide_home(self, host: str, is_away: bool) -> None:
        self.faults[host].away = is_away

    @rule(host=HOSTS, other=HOSTS, kind=KINDS)
    def open_without_home(self, host: str, other: str, kind: Kind) -> None:
        """Write into the copy of a host, which is old where another host wrote after it."""
        self.leave(host)
        if other != host:
            self.acknowledge(other, append)
            self.leave(other)
        self.hide_home(host, True)
        self.acknowledge(host, kind)

    @rule(host=HOSTS)
    def lose_scratch(self, host: str) -> None:
        self._drop(host)
        shutil.rmtree(self.folder / host, ignore_errors=True)

    @rule(heading=st.sampled_from(("## Likes\n", "## Work\n")))
    def save(self, heading: str) -> None:
        line = f"- save-{len(self.saved):03d} of ann\n"
        self.saved.append(line)
        self.fleet.pass_by(1)
        text = self.fleet.text()
        self.fleet.save(USER, text.replace(heading, f"{heading}\n{line}", 1))

    @rule()
    def wait(self) -> None:
        self.fleet.pass_by(130)

    def teardown(self) -> None:
        try:
            self._check()
        finally:
            for host in list(self.visits):
                self._drop(host)
            self.fleet.ledger.close()
            shutil.rmtree(self.folder)

    def _check(self) -> None:
        for host in list(self.visits):
            self._drop(host)
        for host in ("three", "one", "two", "three"):
            self.faults[host].at = -1
            self.faults[host].away = False
            self.fleet.pass_by(130)
            visit = self.fleet.visit(host, self.faults[host])
            visit.leave(self.fleet.now)
        notes = self.fleet.notes()
        user = notes[USER]
        logs = {path: text for path, text in notes.items() if ".audit." in path}
        others = "".join(text for path, text in notes.items() if path not in logs)
        assert all(line in user for line in START.splitlines())
        for line in self.saved:
            assert user.count(line) == 1, (line, user)
        ids = [json.loads(line)["id"] for text in logs.values() for line in text.split("\n")[:-1]]
        assert len(ids) == len(set(ids))
        for op in self.acknowledged:
            words = op.arguments.get("text") or op.arguments["ops"][0]["line"]
            assert others.count(words) == 1, (words, others)
            if op.call != "record":
                assert len([id_ for id_ in ids if id_.startswith(op.prefix)]) == 1
        assert self.fleet.ledger.counts().waiting == 0
        assert not [path for path in notes if "conflict" in path.lower()]


@pytest.mark.sampled
def test_whatever_happens_to_hosts_nothing_acknowledged_is_lost_or_doubled() -> None:
    run_state_machine_as_test(
        FleetLife,
        settings=settings(
            max_examples=cases(60),
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
