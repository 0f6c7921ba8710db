"""PgBouncer, which operators put before PostgreSQL, for the tests."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.addons.fleet.ledger.servers import PASSWORD, UNPRIVILEGED, USER, PostgresServer
from tests.scenarios.outside import free_port

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PACKAGE = "pgbouncer"
START_SECONDS = 30

CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = scram-sha-256
auth_file = {folder}/users.txt
unix_socket_dir =
logfile = {folder}/log
pool_mode = {mode}
{more}
"""


@contextmanager
def pooler(server: PostgresServer, mode: str, more: str = "") -> Iterator[int]:
    """Run a pooler before a server; yield its port."""
    assert PROGRAM is not None
    folder = Path(tempfile.mkdtemp(prefix="vault-pooler-"))
    port = free_port()
    (folder / "users.txt").write_text(f'"{USER}" "{PASSWORD}"\n')
    (folder / "pgbouncer.ini").write_text(
        CONFIGURATION.format(server=server.port, port=port, folder=folder, mode=mode, more=more)
    )
    command = [PROGRAM, str(folder / "pgbouncer.ini")]
    if os.getuid() == 0:
        # It refuses to run as root.
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, UNPRIVILEGED)
        command += ["--user", UNPRIVILEGED]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(server.url().replace(f":{server.port}/", f":{port}/"))
        yield port
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return
