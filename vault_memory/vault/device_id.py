"""Which device this is: a name that people recognise, e.g. ``laptop-3f9a1c``, kept in the vault's state, never in it.

The name is made from the machine, the user and the state's place, so that a state that was deleted gets the same name
again. It stands in each record of the audit, and in the names of logs once several devices write to one vault.
"""

import hashlib
import os
import re
from pathlib import Path

FILE = "device"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_LONGEST_HOST = 24


def device_of(state: Path) -> str:
    """The name of the device whose state this is, given to it at the first time. Of two who ask at once, both get one.

    Letters, digits and hyphens only: it is to stand in the names of files.
    """
    file = state / FILE
    known = _kept(file)
    if known:
        return known
    fresh = file.with_name(f"{FILE}.{os.urandom(6).hex()}")
    fresh.write_text(_made(state) + "\n", encoding="ascii")
    os.replace(fresh, file)
    return _kept(file)


def own_log(path: str, device: str) -> str:
    """The name of a log where several devices write: of ``2026-11-21.jsonl`` ``2026-11-21.laptop-3f9a1c.jsonl``."""
    stem, ending = path.rsplit(".", 1)
    return f"{stem}.{device}.{ending}"


def is_device(name: str) -> bool:
    """Whether this can be the name of a device."""
    return _NAME.fullmatch(name) is not None


def _kept(file: Path) -> str:
    try:
        name = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return name if is_device(name) else ""


def _made(state: Path) -> str:
    host = re.sub(r"[^a-z0-9]+", "-", os.uname().nodename.lower().split(".")[0])[
        :_LONGEST_HOST
    ].strip("-")
    where = "\0".join(
        ("vault-memory", _machine(), str(os.getuid()), os.path.realpath(state))
    )
    return f"{host or 'device'}-{hashlib.sha256(where.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def _machine() -> str:
    """What tells this machine from others of the same name; it is only ever hashed."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return os.uname().nodename
