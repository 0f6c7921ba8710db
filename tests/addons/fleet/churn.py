"""A fleet under churn: hosts are killed and stopped, PostgreSQL is restarted, and people talk to their bots meanwhile."""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count

import httpx

from tests import warm
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host
from vault_memory.addons.fleet.ledger.contract import LEASE_SECONDS

HOSTS = ("east", "west", "south")
ASK_SECONDS = 15.0
"""A client gives up after so long, as the proxy of an operator does"""
PAUSE = 0.25
LONG_STOP = LEASE_SECONDS + 5
SHORT_STOP = 4.0
FAULTS = ("kill", "long stop", "short stop", "postgres kill", "postgres stop", "read-only")
FOUND_SECONDS = 4 * LEASE_SECONDS


@dataclass(frozen=True)
class Word:
    """A word that a host acknowledged."""

    person: str
    text: str
    host: str
    at: float


@dataclass
class Diary:
    """What the clients were told."""

    words: list[Word] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    bugs: list[str] = field(default_factory=list)
    """answers that are neither right nor a request to try again"""
    wrong: list[str] = field(default_factory=list)
    """answers that lack an acknowledged word, and are called fresh"""
    faults: list[tuple[float, str]] = field(default_factory=list)
    searches: int = 0
    stale: int = 0


class Churn:
    """Three hosts, a PostgreSQL of their own, and the faults that they meet."""

    def __init__(
        self,
        fleet: OperatedFleet,
        postgres: PostgresServer,
        tokens: dict[str, str],
        stack: ExitStack,
        seed: int,
    ) -> None:
        self.fleet = fleet
        self.postgres = postgres
        self.tokens = tokens
        self.stack = stack
        self.chance = random.Random(seed)
        self.diary = Diary()
        self.hosts: dict[str, RunningHost] = {}
        self.is_over = threading.Event()
        self._stopped: dict[str, float] = {}
        """host → when it goes on"""
        self._starts = count()
        for name in HOSTS:
            self.start(name)

    # --- Faults ---

    def start(self, name: str) -> None:
        """Start a host, on the scratch of an earlier one of this name."""
        self.hosts[name] = self.stack.enter_context(running_host(self.fleet, name))

    def round(self, fault: str) -> None:
        """One fault, and what ended of earlier ones."""
        self.diary.faults.append((time.monotonic(), fault))
        self.let_go_on()
        running = [name for name in HOSTS if name not in self._stopped]
        match fault:
            case "kill":
                name = self.chance.choice(running)
                self.hosts[name].kill()
                self.start(name)
            case "long stop" | "short stop" if len(running) > 1:
                name = self.chance.choice(running)
                seconds = LONG_STOP if fault == "long stop" else SHORT_STOP
                warm.tell(self.hosts[name].pid, signal.SIGSTOP)
                self._stopped[name] = time.monotonic() + seconds
            case "postgres kill":
                self.postgres.kill()
                time.sleep(self.chance.random())
                self.postgres.start()
            case "postgres stop":
                self.postgres.restart()
            case "read-only":
                self._read_only("on")
                time.sleep(1 + self.chance.random())
                self._read_only("off")
        time.sleep(self.chance.uniform(0.5, 3))

    def _read_only(self, value: str) -> None:
        with self.postgres.admin() as connection:
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            connection.execute("SELECT pg_reload_conf()")

    def let_go_on(self, *, at_once: bool = False) -> None:
        """Let the hosts go on whose stop is over."""
        for name, until in list(self._stopped.items()):
            if at_once or time.monotonic() > until:
                warm.tell(self.hosts[name].pid, signal.SIGCONT)
                del self._stopped[name]

    # --- Clients ---

    def talk(self, person: str, seed: int) -> None:
        """Tell the bot of one person words, one after the other."""
        chance = random.Random(seed)
        for number in count():
            if self.is_over.wait(PAUSE):
                return
            text = f"{person}word{number}x{seed}"
            body = {"session": f"s{number // 20}", "role": "user", "text": f"I saw {text}"}
            path = "/v1/turns"
            host = chance.choice(HOSTS)
            if number % 5 == 0:
                body["text"] = f"I like {text} at sea"
                self._ask(host, person, path, body)
                path, body = "/v1/remember", {"text": body["text"]}
            answer = self._ask(host, person, path, body)
            if answer is None or answer.status_code != 200:
                continue
            outcome = answer.json().get("outcome", "applied")
            if outcome in ("applied", "pending", "added") and answer.json().get("note"):
                self.diary.words.append(Word(person, text, host, time.monotonic()))

    def look(self, seed: int) -> None:
        """Search for words that were acknowledged before the question."""
        chance = random.Random(seed)
        while not self.is_over.wait(PAUSE):
            words = self.diary.words
            if not words:
                continue
            recent = words[-1 - min(int(chance.expovariate(0.3)), len(words) - 1)]
            self._look_for(chance, chance.choice([recent, chance.choice(words)]))

    def _look_for(self, chance: random.Random, word: Word) -> bool:
        """Whether a host finds a word."""
        asked = time.monotonic()
        body = {"query": word.text, "limit": 3}
        host = chance.choice(HOSTS)
        answer = self._ask(host, word.person, "/v1/search", body)
        if answer is None or answer.status_code != 200:
            return False
        self.diary.searches += 1
        found = answer.json()
        if any(word.text in hit["text"] for hit in found["hits"]):
            return True
        if found["freshness"]["stale_files"]:
            self.diary.stale += 1
        else:
            age = asked - word.at
            self.diary.wrong.append(f"{word.text}: {age:.1f} s after it was acknowledged")
        return False

    def _ask(self, name: str, person: str, path: str, body: object) -> httpx.Response | None:
        host = self.hosts[name]
        headers = {"authorization": f"Bearer {self.tokens[person]}"}
        try:
            answer = httpx.post(
                host.address + path, json=body, headers=headers, timeout=ASK_SECONDS
            )
        except httpx.HTTPError:
            return None
        self.diary.statuses[answer.status_code] += 1
        # A valid token is never a wrong one, and a fault is no bug.
        if answer.status_code not in (200, 429, 503):
            self.diary.bugs.append(f"{name} {path}: {answer.status_code} {answer.text}")
        return answer

    # --- The whole ---

    def run(self, faults: list[str]) -> None:
        """Live through these faults, and then look for every acknowledged word."""
        threads = [
            threading.Thread(target=self.talk, args=(person, number))
            for number, person in enumerate(self.tokens)
        ]
        threads += [threading.Thread(target=self.look, args=(seed,)) for seed in (11, 12)]
        for thread in threads:
            thread.start()
        try:
            # On a busy machine a host needs its time before it acknowledges the first word.
            self._wait_for(lambda: self.diary.words, "acknowledges a word")
            for fault in faults:
                self.round(fault)
            self._wait_for(lambda: self.diary.searches, "answers a search")
        finally:
            self.is_over.set()
            self.let_go_on(at_once=True)
            for thread in threads:
                thread.join(120)
            # A host that was stopped for the end has to be asked like the others.
            with suppress(Exception):
                self._read_only("off")

    def _wait_for(self, happened: Callable[[], object], event: str) -> None:
        deadline = time.monotonic() + FOUND_SECONDS
        while not happened():
            statuses = dict(self.diary.statuses)
            assert time.monotonic() < deadline, f"no host {event}: {statuses}"
            self.let_go_on()
            time.sleep(PAUSE)

    def lost(self) -> list[str]:
        """The acknowledged words that no host finds within some leases, and their vaults' notes."""
        chance = random.Random(0)
        missing = list(self.diary.words)
        deadline = time.monotonic() + FOUND_SECONDS
        while missing and time.monotonic() < deadline:
            missing = [word for word in missing if not self._look_for(chance, word)]
        return [f"{word.text} (acknowledged by {word.host})" for word in missing]
