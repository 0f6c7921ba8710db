"""Runs a server and ends it, with all its children and its folder, when whoever started it is gone.

``python guard.py FOLDER COMMAND...`` holds on to its standard input: when that closes, for whatever reason, also a kill
of the tests, the server's process group is ended and FOLDER removed.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time

ENDED = "ended"
"""The name of the file that says that the server runs no more."""


def main(folder: str, *command: str) -> int:
    """Start, wait for the end of either, clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with open(os.path.join(folder, "output"), "ab") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    while server.poll() is None:
        if select.select([sys.stdin], [], [], 0.2)[0] and not os.read(0, 1):
            break
    _end(server)
    open(os.path.join(folder, ENDED), "w").close()
    # Whoever started it may still want to read why it ended.
    while not (select.select([sys.stdin], [], [], 60)[0] and not os.read(0, 1)):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _end(server: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline and server.poll() is None:
            time.sleep(0.01)
    server.wait()


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
