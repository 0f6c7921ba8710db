"""Processes that sync a vault pass after pass until nothing is left to do, or until they are killed.

``python -m tests.sync.passing`` reads what to do from its standard input, FOLDER NAME URL USER PASSWORD KIND as JSON on
a line, forks a process for it, and prints its number. That begins with the next line; how it ended is printed then.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.sync.devices import AHEAD, Clock, Device
from tests.warm import load
from vault_memory.errors import VaultMemoryError
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.webdav import WebDav

CALM_PASSES = 1


def main(folder: str, name: str, url: str, user: str, password: str, kind: str) -> int:
    """0 when a pass had nothing to do."""
    clock = Clock(datetime.now(UTC) + AHEAD)
    make = Nextcloud if kind == "nextcloud" else WebDav
    device = Device(Path(folder), name, make(url, Account(user, password)), clock)
    calm = 0
    for _ in range(120):
        clock.pass_by(61)
        try:
            calm = (
                calm + 1 if device.run_pass(approve_deletes=True, approve_restore=True).quiet else 0
            )
        except VaultMemoryError:
            calm = 0
        if calm == CALM_PASSES:
            device.stop()
            return 0
        time.sleep(0.1)
    return 1


def fork(*asked: str) -> None:
    """One process, from its number to how it ended."""
    begins, begin = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(begins, 1)
            code = main(*asked)
        finally:
            os._exit(code)
    print(child, flush=True)
    sys.stdin.readline()
    os.write(begin, b".")
    _, status = os.waitpid(child, 0)
    os.close(begins)
    os.close(begin)
    print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    load()
    while line := sys.stdin.readline():
        fork(*json.loads(line))
