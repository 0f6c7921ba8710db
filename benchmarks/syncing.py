"""The first upload of a vault to Apache beside rclone and webdavclient3's own upload, and a pass with nothing to do."""

import contextlib
import io
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import vaults
from benchmarks.place import Place
from benchmarks.table import Row
from tests.remote.servers import real
from vault_memory.remote.http_transport import Account
from vault_memory.remote.webdav import WebDav
from vault_memory.sync.engine import LocalVault, SyncEngine
from vault_memory.sync.settings import Settings
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.writer import Writer

NOTES = 1_000
FOLDERS = 20
ROUNDS = 3
SHARE_OF_RCLONE = 0.2
MOST_REQUESTS = 1.1
AHEAD = timedelta(hours=1)
"""So that no note counts as saved just now"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took."""

    wall: float
    cpu: float
    requests: int = 0
    connections: int = 0


def rows(place: Place) -> Iterator[Row]:
    """Two rows, or one that says what is missing here."""
    if missing := real.missing("apache-digest") or real.missing("rclone"):
        yield Row(f"first upload of {NOTES:,} notes", "rclone", "–", missing, "–", None)
        return
    vault = _vault(place)
    server = real.start("apache-digest")
    try:
        yield from _rows(place, vault, server)
    finally:
        server.stop()


def _rows(place: Place, vault: Path, server: real.Server) -> Iterator[Row]:
    rclone = _rclone(vault, server)
    clients, firsts = [], []
    for number in range(ROUNDS):
        clients.append(_webdavclient(vault, server, f"client{number}"))
        remote = WebDav(server.make_folder(f"ours{number}"), Account(server.user, server.password))
        first, idle = _ours(place.root / f"state{number}", vault, remote)
        firsts.append(first)
        remote.close()
    client, first = _middle(clients), _middle(firsts)
    yield Row(
        f"first upload of {NOTES:,} notes to Apache",
        f"rclone: {rclone.wall:.1f} s, CPU {rclone.cpu:.2f} s",
        f"webdavclient3's upload: {client.wall:.1f} s, CPU {client.cpu:.2f} s",
        f"{first.wall:.1f} s, CPU {first.cpu:.2f} s, {first.requests:,} requests, {first.connections} connection",
        f"≤ 1/5 of rclone's time, CPU ≤ webdavclient3's, ≤ {MOST_REQUESTS * NOTES:,.0f} requests",
        first.wall <= SHARE_OF_RCLONE * rclone.wall
        and first.cpu <= client.cpu
        and first.requests <= MOST_REQUESTS * NOTES,
    )
    again = _rclone(vault, server)
    yield Row(
        f"a pass with nothing to do, {NOTES:,} notes in {FOLDERS} folders",
        f"rclone: {again.wall:.2f} s, CPU {again.cpu:.2f} s",
        "–",
        f"{idle.wall:.2f} s, CPU {idle.cpu:.2f} s, {idle.requests} requests",
        f"{FOLDERS + 1} requests",
        idle.requests == FOLDERS + 1,
    )


def _middle(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]


def _vault(place: Place) -> Path:
    vault = place.root / "uploaded"
    words = vaults.Words(5)
    for number in range(NOTES):
        note = vault / f"{number % FOLDERS:02}" / f"{number:04}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(
            f"# Note {number}\n\n" + "".join(f"- {words.text(60, 120)}\n" for _ in range(12))
        )
    return vault


def _ours(state: Path, vault: Path, remote: WebDav) -> tuple[Cost, Cost]:
    """The first pass, and one after all is verified."""
    state.mkdir()
    writer = Writer.open(vault, state, lambda base, ours, theirs: None)

    @contextlib.contextmanager
    def writing() -> Iterator[Writer]:
        yield writer

    local = LocalVault(Folder(vault), writing)
    sync = SyncEngine(local, state, remote, Settings())
    now = datetime.now(UTC) + AHEAD
    first = _measured(lambda: sync.run_pass(now).requests)
    time.sleep(3)
    sync.run_pass(now + timedelta(seconds=60))
    idle = _measured(lambda: sync.run_pass(now + timedelta(seconds=120)).requests)
    sync.close()
    writer.close()
    return Cost(first.wall, first.cpu, first.requests, _connections(remote)), idle


def _connections(remote: WebDav) -> int:
    pools = remote._transport.session.get_adapter("http://").poolmanager.pools  # type: ignore[attr-defined]
    return sum(pools[key].num_connections for key in pools.keys())  # noqa: SIM118  # it is no mapping that can be walked


def _measured(work: Callable[[], int]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    requests = work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu, requests)


def _webdavclient(vault: Path, server: real.Server, folder: str) -> Cost:
    """Its own upload without its checks, which make another request for each note."""
    from webdav3.client import Client

    options = {
        "webdav_hostname": server.make_folder(folder),
        "webdav_login": server.user,
        "webdav_password": server.password,
        "disable_check": True,
    }
    client = Client(options)
    notes = sorted(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
    with contextlib.redirect_stdout(io.StringIO()):
        for above in sorted({note.partition("/")[0] for note in notes}):
            client.mkdir(above)

    def upload() -> int:
        for note in notes:
            client.upload_file(note, str(vault / note))
        return len(notes)

    return _measured(upload)


def _rclone(vault: Path, server: real.Server) -> Cost:
    if not (server.root_dir / "rclone").exists():
        server.make_folder("rclone")
    hidden = subprocess.run(
        ["rclone", "obscure", server.password], capture_output=True, text=True, check=True
    )
    target = f":webdav,url='{server.url}rclone/',user={server.user},pass={hidden.stdout.strip()}:"
    started = time.perf_counter()
    process = subprocess.Popen(["rclone", "--config", "/dev/null", "copy", str(vault), target])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"error: rclone ended with {process.returncode}")
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime)
