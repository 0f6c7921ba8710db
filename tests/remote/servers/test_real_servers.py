"""Real servers come up behind a password, and never outlive the tests."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from tests.every import every
from tests.remote.servers import real
from tests.remote.servers.real import Kind, Server


@every("name", [*real.KINDS, "wsgidav"])
def test_each_server_requires_the_password(
    name: str, server_named: Callable[[str], Server]
) -> None:
    server = server_named(name)
    folder = server.make_folder("door")

    assert requests.put(f"{folder}a.md", data=b"text\n", timeout=120).status_code == 401
    good = requests.put(
        f"{folder}a.md", data=b"text\n", auth=(server.user, server.password), timeout=120
    )

    assert good.status_code == 201
    assert (server.root_dir / "door" / "a.md").read_bytes() == b"text\n"


def test_a_missing_server_is_reported_with_the_packages_to_install() -> None:
    kind = Kind(
        "hiawatha", ("hiawatha", "hiawatha-dav"), ("no-such-program",), lambda base, port: []
    )

    assert kind.missing == "hiawatha is not installed (Debian: hiawatha hiawatha-dav)"


def test_a_server_that_cannot_start_gives_the_reason_and_leaves_nothing() -> None:
    kind = Kind("broken", (), (), lambda base, port: ["sh", "-c", "echo no such option; exit 1"])

    with pytest.raises(AssertionError, match="no such option"):
        kind.start()


def test_a_server_stops_when_the_tests_are_killed(project: Path) -> None:
    if reason := real.missing("lighttpd"):
        pytest.skip(reason)
    program = (
        "import os, signal; from tests.remote.servers import real; server = real.start('lighttpd');"
        "print(server.url, server.root_dir, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )

    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True, timeout=60
    )
    url, folder = killed.stdout.split()

    deadline = time.monotonic() + 120
    while answers(url) or Path(folder).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert killed.returncode == -9


def test_a_stopped_server_removes_its_folder() -> None:
    server = real.start("wsgidav" if real.missing("lighttpd") else "lighttpd")
    assert answers(server.url)

    server.stop()

    assert not answers(server.url)
    assert not os.path.exists(server.root_dir)


def answers(url: str) -> bool:
    host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False
