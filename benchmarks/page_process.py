"""`vault-memory web` as a process of its own, asked as a browser asks it, for a measurement."""

import json
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.cost import running_cpu
from benchmarks.place import Place, program
from vault_memory.addons.page.browser_sessions import BrowserSessions

PATIENCE_SECONDS = 120.0
SETTLED_SECONDS = 0.35
"""After a write: the daemon has read the note, and the next write finds it unchanged"""
QUIET_SECONDS = 2.0
MOST_QUIET_SECONDS = 0.05
"""CPU seconds of a daemon that has nothing to do, in `QUIET_SECONDS`"""
TABS = 12


@dataclass
class PageProcess:
    """The page of one vault and a browser that is signed in."""

    process: "subprocess.Popen[str]"
    daemon_pid: int
    client: httpx.Client
    origin: str
    csrf: str
    tabs: "list[Tab]" = field(default_factory=list)

    def cpu(self) -> float:
        """CPU seconds that the page and the daemon have used."""
        return running_cpu(self.process.pid) + running_cpu(self.daemon_pid)

    def wait_until_quiet(self) -> None:
        """Waits until the daemon has done what it does after the start in a new vault."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            before = running_cpu(self.daemon_pid)
            time.sleep(QUIET_SECONDS)
            if running_cpu(self.daemon_pid) - before < MOST_QUIET_SECONDS:
                return
        raise SystemExit("error: the daemon is still busy")

    def get(self, path: str) -> bytes:
        """A view."""
        answer = self.client.get(path)
        if answer.status_code != 200:
            raise SystemExit(f"error: {path} was answered with {answer.status_code}")
        return answer.content

    def post(self, path: str, fields: Mapping[str, str]) -> None:
        """A button."""
        answer = self.client.post(
            path, data={"csrf": self.csrf, **fields}, headers={"origin": self.origin}
        )
        if answer.status_code != 303:
            raise SystemExit(f"error: {path} was answered with {answer.status_code}")

    def post_cpu(self, path: str, fields: Mapping[str, str]) -> float:
        """CPU seconds of a button, with what the daemon does about it afterwards."""
        before = self.cpu()
        self.post(path, fields)
        time.sleep(SETTLED_SECONDS)
        return self.cpu() - before

    def get_cpu(self, path: str) -> float:
        """CPU seconds of a view."""
        before = self.cpu()
        self.get(path)
        return self.cpu() - before

    def open_tab(self) -> "Tab":
        """Opens a stream of events."""
        tab = Tab(self.client)
        self.tabs.append(tab)
        tab.wait_until_live()
        return tab

    def seconds_to_end(self) -> float:
        """Seconds from SIGTERM to the end. Fails when it is not an end with 0."""
        started = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_SECONDS)
        if code:
            raise SystemExit(f"error: the page ended with {code}")
        return time.perf_counter() - started


class Tab:
    """An open stream of `/events`: what it names, with the time at which it came."""

    def __init__(self, client: httpx.Client) -> None:
        self.events: queue.SimpleQueue[tuple[float, str, Any]] = queue.SimpleQueue()
        self._client = client
        threading.Thread(target=self._read, daemon=True).start()

    def wait_until_live(self) -> None:
        """Waits for the first event, which tells the state."""
        _, name, _ = self.events.get(timeout=PATIENCE_SECONDS)
        if name not in ("state", "reload"):
            raise SystemExit(f"error: a stream began with `{name}`")

    def seen_at(self, note: str, seconds: float) -> float | None:
        """When the stream named a note; None when it does not within these seconds."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            try:
                moment, _, data = self.events.get(timeout=left)
            except queue.Empty:
                return None
            if note in data.get("notes", ()):
                return moment
        return None

    def _read(self) -> None:
        name = ""
        with (
            suppress(httpx.HTTPError, RuntimeError),
            self._client.stream("GET", "/events", timeout=None) as answer,
        ):
            for line in answer.iter_lines():
                key, _, value = line.partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    self.events.put((time.perf_counter(), name, json.loads(value)))


@contextmanager
def page_process(place: Place, vault: Path, daemon_pid: int) -> Iterator[PageProcess]:
    """The page of a vault, from its first link to its end."""
    command = [program(), "web", "--no-browser", "--vault", str(vault)]
    process = subprocess.Popen(
        command,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        link = urlsplit(process.stdout.readline().strip())
        if not link.path:
            raise SystemExit("error: the page ended before it printed a link")
        limits = httpx.Limits(max_connections=2 * TABS)
        with httpx.Client(
            base_url=f"http://127.0.0.1:{link.port}",
            headers={"host": link.netloc},
            timeout=PATIENCE_SECONDS,
            limits=limits,
        ) as client:
            origin = f"http://{link.netloc}"
            csrf = _sign_in(place, vault, client, link.path, origin)
            yield PageProcess(process, daemon_pid, client, origin, csrf)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(20)


def _sign_in(place: Place, vault: Path, client: httpx.Client, path: str, origin: str) -> str:
    """Opens the link. Returns the token for forms."""
    answer = client.post(path, headers={"origin": origin})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    client.headers["cookie"] = cookie
    with place.open(vault) as memory:
        sessions = BrowserSessions(memory.vault.state.path)
    session = sessions.find(cookie.partition("=")[2])
    assert session is not None
    return session.csrf
