"""Commands in processes of their own that need not start from nothing: each is forked from one that has loaded it all.

    with warmed() as program:
        subprocess.run([*program, "search", "tea"])

A client as small as can be hands its arguments, folder, environment and open files over, and ends as the command ends.
Starting, loading and what a fresh process lacks is tested where commands are started in earnest. `hosts=True` asks
for a process that has loaded the servers and the client of S3, too.
"""

import array
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

TELLS = "TESTS_WARM_TELLS"
"""In the environment: the number of an open file that is told the number of the process"""
HIDES = "TESTS_WARM_HIDES"
"""In the environment: the name of a package that is not installed for this process"""
PATIENT = "TESTS_WARM_PATIENT"
"""In the environment: seconds for which a hook waits for the process beside it, and which has all the time that a
busy computer needs"""
PATIENT_SECONDS = 240.0
CLIENT = Path(__file__).with_name("warm_client.py")
NOT_LOADED = (
    "vault_memory.__main__",
    "vault_memory.addons.fleet",
    "vault_memory.addons.page",
    "vault_memory.addons.talk",
    "vault_memory.http",
    "vault_memory.mcp",
    "vault_memory.cli.commands.serve",
)
"""Nobody who is tested with it needs these, and they are slow to load"""
NOT_LOADED_FOR_HOSTS = ("vault_memory.__main__", "vault_memory.addons.fleet.ledger.postgres")
"""A host with a ledger in SQLite lacks the package that the other ledger needs"""


@cache
def program(*, hosts: bool = False) -> tuple[str, ...]:
    """How to start a command; the process behind it is there from the first call until this one ends."""
    folder = tempfile.mkdtemp(prefix="warm-")
    path = os.path.join(folder, "s")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", path, *(["hosts"] if hosts else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stdout.read(1), "it did not start"

    def end() -> None:
        server.kill()
        server.wait()
        with contextlib.suppress(OSError):
            os.unlink(path)
            os.rmdir(folder)

    atexit.register(end)
    return sys.executable, "-I", "-S", str(CLIENT), path


def started(
    *arguments: str, environment: Mapping[str, str], hosts: bool = False, **options: Any
) -> tuple["subprocess.Popen[Any]", int]:
    """A command that runs: the process that stands for it, and ends as it does, and the number of its own."""
    told, tells = os.pipe()
    command = [*program(hosts=hosts), *arguments]
    process = subprocess.Popen(
        command, env={**environment, TELLS: str(tells)}, pass_fds=(tells,), **options
    )
    os.close(tells)
    with open(told, encoding="ascii") as stream:
        return process, int(stream.readline())


def tell(pid: int, number: int) -> None:
    """Send a signal to a process, if it is there still."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def load(*, hosts: bool = False) -> None:
    """What commands load when they need it: who forks many processes does it once."""
    package = importlib.import_module("vault_memory")
    for found in pkgutil.walk_packages(package.__path__, "vault_memory."):
        if not found.name.startswith(NOT_LOADED_FOR_HOSTS if hosts else NOT_LOADED):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    for name in ("apsw", "markdown_it", "msgspec", "requests", "sqlite_vec"):
        importlib.import_module(name)
    if hosts:
        importlib.import_module("uvicorn.protocols.http.h11_impl")
        s3_client = importlib.import_module("vault_memory.addons.s3.s3_client")
        s3_client._make_client("http://127.0.0.1:1", "us-east-1", "key\nsecret")


def _serve(path: str, *, hosts: bool) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    load(hosts=hosts)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(1, b"1")
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:  # whoever started it is gone
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with contextlib.suppress(BrokenPipeError):
                _wait_for(connection)
            os._exit(0)
        connection.close()


def _wait_for(connection: socket.socket) -> None:
    """Run what is asked for in a child, tell its number at once, and how it ended then."""
    files = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_LEN(3 * files.itemsize))
    for _, _, data in ancillary:
        files.frombytes(data)
    rest = b""
    while len(rest) < int.from_bytes(head, "little"):
        rest += connection.recv(1 << 20)
    folder, count, *words = [os.fsdecode(word) for word in rest.split(b"\0")]
    child = os.fork()
    if child == 0:
        connection.close()
        _become(files, folder, words[: int(count)], words[int(count) :])
    for file in files:
        os.close(file)
    connection.sendall(child.to_bytes(4, "little"))
    _, status = os.waitpid(child, 0)
    connection.sendall(status.to_bytes(4, "little"))


def _become(
    files: "array.array[int]", folder: str, arguments: list[str], environment: list[str]
) -> None:
    """The command, in this process."""
    code = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
        )
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(one.split("=", 1) for one in environment)
        if hidden := os.environ.pop(HIDES, ""):
            sys.modules[hidden] = None  # type: ignore[assignment]
        if seconds := os.environ.pop(PATIENT, ""):
            _give_hooks_time(float(seconds))
        sys.argv = ["vault-memory", *arguments]
        from vault_memory.cli import main

        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


def _give_hooks_time(waits: float) -> None:
    from vault_memory.addons.hosts import hook_command
    from vault_memory.cli import quick_start

    hook_command.HOOK_SECONDS = quick_start.HOOK_SECONDS = PATIENT_SECONDS
    hook_command.WAIT_SECONDS = waits


if __name__ == "__main__":
    _serve(sys.argv[1], hosts=sys.argv[2:] == ["hosts"])
