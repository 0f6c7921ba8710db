"""A process that syncs a vault pass after pass until nothing is left to do, or until it is killed.

``python -m tests.sync.passing FOLDER NAME URL USER PASSWORD KIND``
"""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.sync.devices import AHEAD, Clock, Device
from vault_memory.errors import VaultMemoryError
from vault_memory.remote import Account, Nextcloud, WebDav

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
            calm = calm + 1 if device.turn(approve_deletes=True).quiet else 0
        except VaultMemoryError:
            calm = 0
        if calm == CALM_PASSES:
            device.stop()
            return 0
        time.sleep(0.1)
    return 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
