"""Nothing phones home: each command and the daemon are traced, with the model that the stock install loads."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import httpx
import pytest

from tests.effort import only_full
from tests.scenarios.cloud import running_cloud
from tests.scenarios.outside import PATIENCE_SECONDS, Done, Outside, until
from tests.scenarios.outside import outside as outside
from tests.tracing import Trace, trace
from vault_memory.cli import COMMANDS

STOCK = {"VAULT_MEMORY_EMBEDDING_KIND": "auto"}
FIRST_LOOKUP_SECONDS = 14
"""A daemon lives so long here: onnxruntime 1.32 asks for its maker's host 9.1 s after it is imported"""
DEVICES = (Path("/dev"), Path("/proc"))
NAME_SERVICE = {"/var/run/nscd/socket"}
"""The C library asks there for the names of accounts, too"""


@dataclass
class Traced:
    """A vault whose commands are traced."""

    outside: Outside
    traces: Path

    @property
    def temporary(self) -> Path:
        return self.outside.home / "tmp"

    def start(self, name: str) -> Trace:
        number = len(list(self.traces.iterdir()))
        return trace(self.traces / f"{number}-{name}", folder=self.outside.home)

    def run(self, name: str, *arguments: str, stdin: str = "", places: Sequence[str] = ()) -> Done:
        """Run a command. It may write to the vault, its state, our cache, and `places`.

        `places` are patterns of paths below its home.
        """
        trail = self.start(name)
        with self._text(stdin) as given:
            done = self.outside.run(name, *arguments, before=trail.before, stdin=given)
        assert done.code not in (2, 3), (name, arguments, done)
        self.check(trail, name, places)
        return done

    def check(self, trail: Trace, name: str, places: Sequence[str] = ()) -> None:
        home = self.outside.home
        ours = (self.outside.vault, home / "state", home / "cache", self.temporary, *DEVICES)
        strange = {
            path
            for path in trail.written()
            if not any(path.is_relative_to(place) for place in ours)
        }
        named = {
            path for path in strange for place in places if fnmatch(str(path), f"{home}/{place}")
        }
        foreign = strange - named - {home}  # making a folder that is there already changes nothing
        sockets = {
            path
            for path in trail.sockets()
            if path not in NAME_SERVICE and not self._is_own_socket(path)
        }
        assert foreign == set(), f"`{name}` writes to foreign places"
        assert trail.connected() == set(), f"`{name}` asks beyond this machine"
        assert sockets == set(), f"`{name}` asks another program of this machine"
        assert list(self.temporary.iterdir()) == [], f"`{name}` leaves temporary files"

    def _is_own_socket(self, path: str) -> bool:
        return path.endswith("daemon.sock") or path.startswith("/proc/self/fd/")

    @contextmanager
    def _text(self, text: str) -> Iterator[int]:
        read, write = os.pipe()
        with os.fdopen(write, "w") as stream:
            stream.write(text)
        try:
            yield read
        finally:
            os.close(read)


@pytest.fixture
def traced(outside: Outside, tmp_path: Path) -> Traced:
    traces = tmp_path / "traces"
    traces.mkdir()
    found = Traced(outside, traces)
    found.temporary.mkdir()
    outside.settings = {**STOCK, "TMPDIR": str(found.temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        outside.settings[name] = ""
    return found


def traced_process(tracer: int) -> int:
    """The process that the tracer has started; signals go to it, so that its end is traced, too."""
    return int(Path(f"/proc/{tracer}/task/{tracer}/children").read_text().split()[0])


NATIVE = """
import ctypes, socket, threading
def native():
    libc = ctypes.CDLL(None)
    libc.creat(b"foreign", 0o600)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 53))
    libc.gethostbyname(b"localhost")
thread = threading.Thread(target=native)
thread.start()
thread.join()
"""


def test_the_trace_detects_native_code_in_other_threads(tmp_path: Path) -> None:
    trail = trace(tmp_path / "trace", folder=tmp_path)

    subprocess.run([*trail.before, sys.executable, "-c", NATIVE], cwd=tmp_path, check=True)

    assert tmp_path / "foreign" in trail.written()
    assert trail.connected() == {("192.0.2.1", 53)}


@pytest.mark.sampled
def test_the_daemon_with_its_model_contacts_no_host_and_writes_no_foreign_file(
    traced: Traced,
) -> None:
    trail = traced.start("run")
    traced.outside.write("memory/tea.md", "- the tea is green\n")

    with traced.outside.daemon(before=trail.before) as daemon:
        daemon.pid = traced_process(daemon.pid)
        since = time.monotonic()
        daemon.until_status(lambda status: status["semantic"] == "ready")
        traced.outside.write("memory/cats.md", "- a veterinarian looked after both kittens\n")
        until(lambda: daemon.search("doctor for my cats", mode="semantic")["hits"])
        time.sleep(max(0, since + FIRST_LOOKUP_SECONDS - time.monotonic()))

    traced.check(trail, "run")


def is_listening(path: Path) -> bool:
    """Whether a connection is accepted: the file of a socket is there a moment earlier."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@pytest.mark.sampled
def test_a_server_contacts_no_host_and_writes_no_foreign_file(traced: Traced) -> None:
    outside, trail = traced.outside, traced.start("serve")
    outside.write("Users/mira/memories/tea.md", "- the tea is green\n")
    path = outside.home / "served.sock"
    command = [*trail.before, *outside.command("serve", "--socket", str(path), "--user", "mira")]
    transport = httpx.HTTPTransport(uds=str(path))

    with subprocess.Popen(command, env=outside.environment, cwd=outside.home) as process:
        try:
            until(lambda: is_listening(path))
            with httpx.Client(
                transport=transport, base_url="http://localhost", timeout=PATIENCE_SECONDS
            ) as client:
                assert client.post("/v1/search", json={"query": "tea"}).json()["hits"]
                assert "tea" in client.post("/mcp", json=QUESTION, headers=BOTH).text
        finally:
            os.kill(traced_process(process.pid), signal.SIGTERM)

    traced.check(trail, "serve", [path.name])


EVENT = {
    "session_id": "s",
    "prompt": "who trimmed the lamp?",
    "hook_event_name": "UserPromptSubmit",
}
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
QUESTION = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "tea"}},
}
BOTH = {"accept": "application/json, text/event-stream"}


# 60 commands, each traced and with the model: the daemon and the server are traced in each run.
@only_full
@pytest.mark.timeout(900)
def test_no_command_contacts_a_host_or_writes_a_foreign_file(traced: Traced) -> None:
    outside, run = traced.outside, traced.run
    note = "Users/mira/memories/tea.md"
    mira = ("--user", "mira")

    run("init", str(outside.vault))
    run("index")
    run("search", "where is the spare key?", "--mode", "semantic")
    for name in (
        "notes",
        "status",
        "stats",
        "doctor",
        "layout",
        "config",
        "last-night",
        "models",
        "inbox",
        "conflicts",
        "trash",
        "facts",
        "log",
    ):
        run(name)
    run("context", "--all")
    outside.write(note, "# Tea\n\n- green\n")
    run("read", note)
    run("links", note)
    run("open", note, "--print")
    outside.settings |= {"EDITOR": "sed -i s/green/green./", "VISUAL": ""}
    run("edit", note)
    run("about", "mira")
    run("completion", "bash")
    run("append", note, "Tea", "white")
    run("add-heading", note, "Coffee", "black")
    run("remove", note, "Tea", "white")
    run("replace", note, "Tea", "green", "red")
    run("append", note, "Tea", "stale")
    run("archive", note, "Tea", "stale")
    run("apply", note, "--ops", "-", stdin="[]")
    run("history", note)
    record = json.loads(run("log", note, "--json").out)["records"][-1]
    run("undo", record["id"])
    version = json.loads(run("history", note, "--json").out)["versions"][-1]
    run("restore", note, "--revision", version["revision"])
    run("forget", "coffee", "--yes")
    run("record", "--session", "s", "--role", "user", *mira, "Please remember that I like tea")
    run("end-session", "s", *mira)
    run("compact", "s", "Asked to remember tea", *mira)
    run("sleep", *mira)
    run("held", *mira)
    run("feedback", "good", "So it is", *mira)
    run("remember", "The lamp is green", *mira)
    fact = json.loads(run("add-fact", "--user", "mira", "mira", "likes", "tea", "--json").out)["id"]
    run("source", fact)
    run("confirm", fact)
    fact = json.loads(run("correct", fact, "coffee", "--json").out)["id"]
    run("invalidate", fact)
    run("delete-fact", fact)
    run("timeline", "mira")
    run("entity", "mira")
    (outside.home / "exports").mkdir()
    run("export", "--to", "exports/out", places=["exports*"])
    workspace = outside.home / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- the lamp is trimmed at nine\n")
    run("import", str(workspace), *mira)
    run("install", "claude-code", *mira, places=[".claude*", "..claude*.new"])
    run("hook", "claude-code", *mira, stdin=json.dumps(EVENT))
    run("mcp", *mira, stdin=f"{json.dumps(GREETING)}\n{json.dumps(QUESTION)}\n")
    run("service", "install", "--user", places=[".config*"])
    run("serve", "--new-token", "mira.token", *mira, places=["mira.token"])
    run("web", "--sign-out")
    run("demo")
    with running_cloud() as cloud:
        outside.settings |= cloud.settings
        run("remote", "test")
        run("sync", "--once")

    assert outside.run("service", "uninstall", "--user").code == 0
    run("uninstall", "--yes", "--purge", places=[".claude*", "..claude*.new"])

    ran = {path.name.partition("-")[2] for path in traced.traces.iterdir()}
    # A fleet has a database and a store for its hosts, and contacts no other.
    assert set(COMMANDS) - ran == {"fleet", "host", "run", "serve"} - ran, (
        "each command is traced; the servers have their own tests"
    )
