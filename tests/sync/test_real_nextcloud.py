"""The world of sync on a real Nextcloud, with a third writer that asks for no preconditions.

`CONTRIBUTING.md` tells how to name one. The same runs on the fake server, so that it is known to work.
"""

import os
import random
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.devices import Clock
from tests.sync.world import Ledger, World
from vault_memory.remote.http_transport import Account, Request
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.remotes import find

NAMES = (
    "VAULT_MEMORY_TEST_NEXTCLOUD_URL",
    "VAULT_MEMORY_TEST_NEXTCLOUD_USER",
    "VAULT_MEMORY_TEST_NEXTCLOUD_PASSWORD",
)
UNNAMED = f"no Nextcloud is named by {', '.join(NAMES)}"
TAGS_AGE = 0.7
"""Seconds between the last passes: a tag is relied on when it is two seconds old"""
STEPS = int(os.environ.get("NEXTCLOUD_STEPS", "60"))


@dataclass
class Unconditional:
    """Another program that reads a note, and writes it back some steps later, whatever happened meanwhile."""

    url: str
    session: requests.Session
    ledger: Ledger
    open: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, chance: random.Random) -> None:
        path = chance.choice(("USER.md", "notes/tea.md", "2026-04-01.md"))
        if path in self.open and chance.random() < 0.5:
            line = f"- {self.ledger.line()}\n".encode()
            self._put(path, self.open.pop(path) + line)
        elif (answer := self.session.get(f"{self.url}/{path}", timeout=60)).status_code == 200:
            self.open[path] = answer.content

    def _put(self, path: str, raw: bytes) -> None:
        while (
            answer := self.session.put(f"{self.url}/{path}", data=raw, timeout=60)
        ).status_code == 423:
            time.sleep(0.2)
        if answer.status_code not in (201, 204):  # its folder was removed: nothing was saved
            self.ledger.saved.discard(raw.decode().rsplit("- ", 1)[1].strip())


def run(base: Path, url: str, account: Account, seed: int, steps: int) -> None:
    """In a new folder of the account, which is removed at the end."""
    files = find(url, account)
    folder = f"{files}/vault-memory-test-{secrets.token_hex(6)}"
    top = Nextcloud(files, account)
    top.mkcol(folder.rpartition("/")[2])
    try:
        with requests.Session() as session:
            session.auth = (account.user, account.password)
            world = World(base, seed, lambda name: Nextcloud(folder, account), Clock(), trouble=0.0)
            world.rest = lambda: time.sleep(TAGS_AGE)
            third = Unconditional(folder, session, world.ledger)
            world.keep_all()
            world.run(steps, lambda chance: third(chance) if chance.random() < 0.3 else None)
            world.settle()
            world.check()
    finally:
        path = folder.rpartition("/")[2]
        target = top.at.target(path, folder=True)
        headers = ("X-NC-Skip-Trashbin: true",)
        top.send(Request("clean", target, headers=headers), path)
        top.close()


@pytest.fixture
def named() -> tuple[str, Account]:
    """The Nextcloud that the environment names."""
    url, user, password = (os.environ.get(name, "") for name in NAMES)
    if not (url and user and password):
        pytest.skip(UNNAMED)
    return url, Account(user, password)


@pytest.fixture
def fake() -> Iterator[tuple[str, Account]]:
    server = FakeNextcloud()
    with Front(server) as front:
        yield front.url, Account(server.user, server.app_password)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
def test_a_real_nextcloud_with_a_third_writer_loses_no_line(
    base: Path, named: tuple[str, Account], seed: int
):
    run(base, *named, seed, STEPS)


def test_the_fake_nextcloud_with_a_third_writer_loses_no_line(
    base: Path, fake: tuple[str, Account]
):
    run(base, *fake, 1, 40)
