"""The address of the page of a vault: a host name and a port of its own, always the same."""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

FIRST_PORT = 20_000
PORTS = 10_000
LONGEST_NAME = 40


class PageAddress(NamedTuple):
    """Where the page of a vault is."""

    host: str
    """the name in URLs"""
    port: int

    @property
    def url(self) -> str:
        """The page's URL, without a path"""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def default_address(root: Path) -> PageAddress:
    """Returns the address of the page of the vault in this folder.

    Fault: browsers ignore ports when they send cookies. Each vault has a host name of its own
    below `localhost`, which all browsers take for this machine.
    """
    digest = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogateescape"))
    number = int.from_bytes(digest.digest()[:4], "big")
    host = f"{_host_label(root.name)}-{digest.hexdigest()[:6]}.localhost"
    return PageAddress(host, FIRST_PORT + number % PORTS)


def _host_label(name: str) -> str:
    """Returns a folder's name with nothing but what a host name can have."""
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return label[:LONGEST_NAME].strip("-") or "vault"
