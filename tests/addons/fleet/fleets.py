"""A small fleet in memory: one home, one ledger, and hosts that can be killed at any request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.remote.ram_remote import PLAIN, RamRemote, RamServer
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.addons.fleet.visit import Visit
from vault_memory.addons.fleet.visit_settings import VisitSettings
from vault_memory.config.sections import RemoteSettings
from vault_memory.database.connection import connect
from vault_memory.remote.contract import Capabilities, Remote
from vault_memory.remote.remote_errors import RemoteBusy, RemoteError, RemoteLocked

VAULT = str(UUID(int=0xA11CE))
HOME = "https://home.example/bucket/ann"
USER = "Users/ann/bot/config/USER.md"
START = """\
# Ann

## Likes

- tea

## Work

- at the harbour
"""
WRITES = ("put", "delete", "move", "mkcol", "rmcol")


class Killed(BaseException):
    """The process of a host ends here."""


class FaultyRemote(RamRemote):
    """Ends the host before or after a certain request."""

    def __init__(self, server: RamServer, faults: "Faults") -> None:
        super().__init__(server)
        self._faults = faults

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in (*WRITES, "get", "list", "look"):
            return method
        faults = super().__getattribute__("_faults")

        def call(*args: Any, **kwargs: Any) -> Any:
            faults.before(name, args)
            result = method(*args, **kwargs)
            faults.after()
            return result

        return call


class FaultyLedger:
    """Ends the host before or after a certain call of the ledger."""

    def __init__(self, ledger: LocalLedger, faults: "Faults") -> None:
        self._ledger, self._faults = ledger, faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._ledger, name)
        if name not in ("keep", "kept", "outcome", "folded", "renew", "give_back"):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self._faults.before(f"ledger {name}", ())
            result = method(*args, **kwargs)
            self._faults.after()
            return result

        return call


@dataclass
class Faults:
    """Counts requests, and ends the host at one of them."""

    at: int = -1
    """twice the number of the request; one more: after it"""
    count: int = 0
    log: list[str] = field(default_factory=list)
    meanwhile: dict[int, Callable[[], None]] = field(default_factory=dict)
    locked: str = ""
    """a path that another program has locked in the home"""
    away: bool = False
    """whether the home answers nothing but that it is busy"""
    refusal: RemoteError | None = None
    """what comes of each request to the home"""

    def before(self, name: str, args: tuple[Any, ...]) -> None:
        if self.refusal is not None and not name.startswith("ledger"):
            raise self.refusal
        if self.away and not name.startswith("ledger"):
            raise RemoteBusy("the home is away", everywhere=True)
        if self.locked and name == "put" and args[0] == self.locked:
            raise RemoteLocked(self.locked)
        if not name.startswith("ledger"):
            self.log.append(f"{name} {args[0] if args else ''}".strip())
        self._step()

    def after(self) -> None:
        self._step()

    def _step(self) -> None:
        number, self.count = self.count, self.count + 1
        if number in self.meanwhile:
            self.meanwhile[number]()
        if number == self.at:
            raise Killed


class Fleet:
    """The home, the ledger, and a scratch folder for each host."""

    def __init__(self, folder: Path, traits: Capabilities = PLAIN) -> None:
        self.folder = folder
        self.now = datetime.now(UTC)
        self.server = RamServer(traits)
        self.person = RamRemote(self.server)
        self.open_ledger(create=True)
        self.ledger.add(VAULT, "ann", HOME)
        self.capabilities: dict[str, Capabilities] = {}
        self.faults = Faults()
        self.save(USER, START)

    def open_ledger(self, *, create: bool = False) -> None:
        """Open the ledger, as after a start of all hosts."""
        file = self.folder / "ledger.sqlite"
        self.ledger = LocalLedger(file, create=create, lease_seconds=30)

    def save(self, path: str, text: str) -> None:
        """A person saves a file in the home."""
        folders = path.split("/")[:-1]
        for count in range(1, len(folders) + 1):
            folder = "/".join(folders[:count])
            if folder not in self.paths():
                self.person.mkcol(folder)
        known = {entry.path: entry.etag for entry in self.person.list(deep=True).entries}
        self.person.put(path, text.encode(), expected=known.get(path))

    def paths(self) -> set[str]:
        return {entry.path for entry in self.person.list(deep=True).entries}

    def text(self, path: str = USER) -> str:
        return self.person.get(path, max_bytes=1 << 20).raw.decode()

    def notes(self) -> dict[str, str]:
        """All that people and their programs see in the home."""
        entries = self.person.list(deep=True).entries
        return {
            entry.path: self.text(entry.path)
            for entry in entries
            if not entry.is_folder and not entry.path.startswith(".")
        }

    def settings(self, host: str, faults: Faults | None = None) -> VisitSettings:
        def open_remote(settings: RemoteSettings, password: str) -> Remote:
            return FaultyRemote(self.server, faults or self.faults)

        return VisitSettings(
            scratch=self.folder / host,
            remote=RemoteSettings(),
            environment={"VAULT_MEMORY_CACHE": str(self.folder / "cache")},
            open_remote=open_remote,
            capabilities=self.capabilities,
        )

    def lease(self, host: str) -> Lease:
        """The host gets the lease, after that of a killed one has run out."""
        self.expire()
        taken = self.ledger.take(VAULT, host, f"http://{host}")
        assert isinstance(taken, Lease)
        return taken

    def expire(self) -> None:
        """The leases of all hosts have run out."""
        connection = connect(self.folder / "ledger.sqlite")
        connection.execute("UPDATE vault SET until = 0")
        connection.close()

    def visit(self, host: str, faults: Faults | None = None) -> Visit:
        ledger: Any = FaultyLedger(self.ledger, faults or self.faults)
        return Visit.open(self.lease(host), ledger, self.settings(host, faults), now=self.now)

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @contextmanager
    def visiting(self, host: str) -> Iterator[Visit]:
        visit = self.visit(host)
        yield visit
        visit.leave(self.now)


def append(op_id: str, line: str, now: datetime, heading: str = "Likes") -> AcknowledgedOp:
    ops = [{"op": "append", "heading": heading, "line": line}]
    return AcknowledgedOp(op_id, "apply", {"note": USER, "ops": ops}, now)


def remember(op_id: str, text: str, now: datetime) -> AcknowledgedOp:
    arguments = {"text": text, "scope": "user:ann", "source": "cli"}
    return AcknowledgedOp(op_id, "remember", arguments, now)


def turn(op_id: str, text: str, now: datetime) -> AcknowledgedOp:
    arguments = {"session": "s1", "role": "user", "user": "ann", "text": text}
    return AcknowledgedOp(op_id, "record", arguments, now)
