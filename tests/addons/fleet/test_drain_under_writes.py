"""A host is drained while people talk to their bot through both hosts: each word that was acknowledged is there once."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import pytest

from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host, until
from tests.effort import FULL
from vault_memory.vault.marker import ensure_marker

NOTE = "Users/{name}/bot/config/USER.md"
TEXT = "# Notes\n\n## Likes\n\n- tea from the harbour\n"
DRAINS = 6 if FULL else 1
BETWEEN = 8
"""words that are acknowledged before and after each drain"""
RETRY = ("vault_moving", "vault_unavailable", "ledger_away")
"""answers to a request that was not carried out; another try is safe"""
PEOPLE = ("ann", "bo")
SECONDS = 60.0
"""after which a writer gives up"""


@dataclass
class Diary:
    """What the writers sent, and what they were told."""

    acknowledged: list[str] = field(default_factory=list)
    uncertain: list[str] = field(default_factory=list)
    """words after whose answer a caller has to look before it asks again"""
    failures: list[str] = field(default_factory=list)
    retries: int = 0


class Writer(threading.Thread):
    """The bot of one person. It asks the hosts in turns, as behind a proxy."""

    def __init__(self, name: str, token: str, hosts: list[RunningHost], diary: Diary) -> None:
        super().__init__()
        self.person, self.token, self.hosts, self.diary = name, token, hosts, diary
        self.is_over = threading.Event()

    def run(self) -> None:
        for number in count():
            if self.is_over.is_set():
                return
            word = f"{self.person}-word-{number}-"
            try:
                self._write(word, number)
            except Exception as error:
                self.diary.failures.append(f"{word}: {error!r}")
                return

    def _write(self, word: str, number: int) -> None:
        deadline = time.monotonic() + SECONDS
        for turn in count(number):
            assert time.monotonic() < deadline, "no host answers"
            hosts = list(self.hosts)
            host = hosts[turn % len(hosts)]
            try:
                answer = self._ask(host, word, number)
            except httpx.ConnectError:
                # The proxy of an operator asks the next host then.
                continue
            if answer.status_code == 200:
                self.diary.acknowledged.append(word)
                return
            code = answer.json()["error"]["code"]
            is_retry = answer.status_code == 503 and "retry-after" in answer.headers
            if is_retry and code == "pending":
                self.diary.uncertain.append(word)
                return
            assert is_retry, answer.text
            assert code in RETRY, answer.text
            self.diary.retries += 1
            time.sleep(0.2)

    def _ask(self, host: RunningHost, word: str, number: int) -> httpx.Response:
        if number % 2:
            text = f"I keep the {word} in my boat"
            return host.ask(self.token, "/v1/remember", text=text)
        return host.ask(self.token, "/v1/turns", session="s1", role="user", text=f"about {word}")


@pytest.fixture
def vaults(fleet_of_hosts: OperatedFleet, tmp_path: Path) -> dict[str, tuple[str, str]]:
    """The token and the home of each person."""
    vaults = {}
    for name in PEOPLE:
        root = tmp_path / name
        note = root / NOTE.format(name=name)
        note.parent.mkdir(parents=True)
        note.write_text(TEXT)
        ensure_marker(root)
        home = fleet_of_hosts.store.new_url()
        added = fleet_of_hosts.ask("fleet", "add", name, "--home", home, "--from", str(root))
        vaults[name] = added["token"], home
    return vaults


def _words(fleet: OperatedFleet, home: str) -> Iterator[str]:
    """The words in the notes and transcripts of a home."""
    for path, raw in fleet.texts(home).items():
        if ".audit." not in path:
            for word in raw.decode().replace('"', " ").split():
                if "-word-" in word:
                    yield word


def _holders(fleet: OperatedFleet) -> set[str]:
    rows = fleet.ask("fleet", "status")["vaults"]
    return {str(row["holder"]) for row in rows}


@pytest.mark.sampled
@pytest.mark.timeout(900)
def test_a_drain_under_writes_loses_and_doubles_no_word(
    fleet_of_hosts: OperatedFleet, vaults: dict[str, tuple[str, str]]
) -> None:
    diary = Diary()
    hosts: list[RunningHost] = []
    writers = [Writer(name, vaults[name][0], hosts, diary) for name in PEOPLE]

    def write_more() -> None:
        first = len(diary.acknowledged)
        until(lambda: diary.failures or len(diary.acknowledged) > first + BETWEEN)
        assert diary.failures == []

    with ExitStack() as stack:
        running = stack.enter_context(running_host(fleet_of_hosts, "host-0"))
        hosts.append(running)
        for writer in writers:
            writer.start()
        stack.callback(_end, writers)
        write_more()
        for number in range(1, DRAINS + 1):
            name = f"host-{number}"
            following = stack.enter_context(running_host(fleet_of_hosts, name))
            hosts.append(following)
            write_more()
            drained = fleet_of_hosts.ask("fleet", "drain", running.name)
            assert drained == {"host": running.name}
            assert running.process.wait(120) == 0
            write_more()
            assert running.name not in _holders(fleet_of_hosts)
            hosts.remove(running)
            running = following
        # The last host brings everything home when it ends.
        _end(writers)

    assert diary.failures == []
    found = [word for _, home in vaults.values() for word in _words(fleet_of_hosts, home)]
    assert sorted(found) == sorted(set(found)), "a word is there twice"
    assert set(diary.acknowledged) <= set(found), "a word is lost"
    assert set(found) <= {*diary.acknowledged, *diary.uncertain}
    assert len(diary.uncertain) <= len(diary.acknowledged) / 4


def _end(writers: list[Writer]) -> None:
    for writer in writers:
        writer.is_over.set()
    for writer in writers:
        writer.join()
