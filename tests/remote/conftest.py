"""Servers for the tests of this room: real ones where their packages are installed, and the fake Nextcloud."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import requests

from tests.remote.servers import real
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.front import Front
from tests.remote.servers.laboratory import Laboratory, on_disk
from tests.remote.servers.nextcloud import Clock, FakeNextcloud

_numbers = count(1)


@pytest.fixture(scope="session")
def server_named() -> Iterator[Callable[[str], real.Server]]:
    """Gives a real server by name (`real.KINDS`, or "wsgidav"), started once; skips the test where it is missing."""
    running: dict[str, real.Server] = {}

    def named(name: str) -> real.Server:
        if reason := real.missing(name):
            pytest.skip(reason)
        if name not in running:
            running[name] = real.start(name)
        return running[name]

    yield named
    for server in running.values():
        server.stop()


@pytest.fixture(params=real.HONEST)
def real_server(
    request: pytest.FixtureRequest, server_named: Callable[[str], real.Server]
) -> real.Server:
    """Each server that looks at preconditions."""
    return server_named(request.param)


@pytest.fixture(params=real.CARELESS)
def careless_server(
    request: pytest.FixtureRequest, server_named: Callable[[str], real.Server]
) -> real.Server:
    """Each server that ignores preconditions."""
    return server_named(request.param)


@pytest.fixture
def clock() -> Clock:
    """The time of the fake Nextcloud, which passes only when told to."""
    return Clock()


@pytest.fixture
def nextcloud(clock: Clock) -> FakeNextcloud:
    """An empty fake Nextcloud."""
    return FakeNextcloud(clock=clock)


@pytest.fixture
def nextcloud_session(nextcloud: FakeNextcloud) -> Iterator[requests.Session]:
    """A session in which every http URL is answered by the fake Nextcloud in this process."""
    with requests.Session() as session:
        session.mount("http://", DirectAdapter(nextcloud))
        session.auth = (nextcloud.user, nextcloud.app_password)
        yield session


@pytest.fixture
def nextcloud_url(nextcloud: FakeNextcloud) -> Iterator[str]:
    """The fake Nextcloud on a port; the URL of the account's files."""
    with Front(nextcloud) as front:
        yield front.url + nextcloud.dav_path


@pytest.fixture
def laboratory(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Laboratory]]:
    """Gives an empty folder on a server by name, "nextcloud" for the fake one."""
    opened: list[Laboratory] = []

    def on(name: str) -> Laboratory:
        if name == "nextcloud":
            fake: FakeNextcloud = request.getfixturevalue("nextcloud")
            clock: Clock = request.getfixturevalue("clock")
            url = request.getfixturevalue("nextcloud_url")
            lab = Laboratory(url, fake.user, fake.app_password, lambda path: clock.pass_(100))
        else:
            server = request.getfixturevalue("server_named")(name)
            folder = f"lab{next(_numbers)}"
            url = server.make_folder(folder)
            lab = Laboratory(
                url, server.user, server.password, on_disk(Path(server.root_dir) / folder)
            )
        opened.append(lab)
        return lab

    yield on
    for lab in opened:
        lab.close()
