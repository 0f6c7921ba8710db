"""Devices that sync real folders with one server, under a clock that the test moves on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.remote.ram_remote import RamRemote, RamServer
from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Remote
from vault_memory.sync.engine import LocalVault, SyncEngine
from vault_memory.sync.pass_report import PassOptions, PassReport
from vault_memory.sync.settings import Settings
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.writer import Writer

AHEAD = timedelta(hours=1)
"""So that no file counts as saved just now"""


@dataclass
class Clock:
    """The same for all devices and the server."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC) + AHEAD)

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def seconds(self) -> float:
        return self.now.timestamp()


class Device:
    """One vault with its state, and a remote of its own."""

    def __init__(
        self, base: Path, name: str, remote: Remote, clock: Clock, settings: Settings | None = None
    ) -> None:
        self.name, self.clock, self.remote = name, clock, remote
        self.vault, self.state = base / name / "vault", base / name / "state"
        self.vault.mkdir(parents=True, exist_ok=True)
        self.state.mkdir(exist_ok=True)
        self.settings = replace(settings or Settings(), device=name)
        self.writer: Writer | None = None
        self.start()

    def start(self) -> None:
        """As a process does, on what the one before left."""
        self.folder = Folder(self.vault)
        self.writer = Writer.open(
            self.vault, self.state, lambda base, ours, theirs: merge(base, ours, theirs).result
        )
        vault = LocalVault(self.folder, self.writing)
        self.sync = SyncEngine(vault, self.state, self.remote, self.settings)

    def stop(self) -> None:
        self.sync.close()
        if self.writer is not None:
            self.writer.close()

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        assert self.writer is not None
        yield self.writer

    def run_pass(self, **options: Any) -> PassReport:
        return self.sync.run_pass(self.clock.now, PassOptions(**options))

    def settle(self, others: "tuple[Device, ...]" = (), passes: int = 12) -> list[PassReport]:
        """Pass after pass on all devices, until nothing is done any more."""
        reports = []
        for _ in range(passes):
            self.clock.pass_by(61)
            round_ = [device.run_pass() for device in (self, *others)]
            reports += round_
            if all(report.quiet for report in round_):
                return reports
        raise AssertionError(reports[-4:])

    def save(self, path: str, text: str | bytes) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def text(self, path: str) -> str:
        return (self.vault / path).read_text()

    def files(self) -> dict[str, bytes]:
        """All that is in the vault, without what is never synced."""
        found = (
            path
            for path in self.vault.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        )
        return {path.relative_to(self.vault).as_posix(): path.read_bytes() for path in found}


def pair(base: Path, server: RamServer | None = None) -> tuple[Device, Device, Clock]:
    """Two devices on one server in memory."""
    clock = Clock()
    server = server or RamServer()
    server.clock = clock.seconds
    one = Device(base, "laptop", RamRemote(server), clock)
    return one, Device(base, "phone", RamRemote(server), clock), clock
