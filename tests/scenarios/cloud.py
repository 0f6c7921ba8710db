"""A server on a port of this machine, and vaults that are kept in step with it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.scenarios.outside import KEYWORDS_ONLY, Outside


@dataclass
class Cloud:
    """The fake Nextcloud, whose time is that of this machine."""

    server: FakeNextcloud
    start: str
    """the address that a person knows"""

    @property
    def url(self) -> str:
        """The folder that is synced."""
        return f"{self.start}{self.server.dav_path.rstrip('/')}/Notes"

    @property
    def settings(self) -> dict[str, str]:
        """For the environment of a command."""
        return {
            "VAULT_MEMORY_REMOTE_URL": self.url,
            "VAULT_MEMORY_REMOTE_USER": self.server.user,
            "VAULT_MEMORY_REMOTE_PASSWORD": self.server.app_password,
            "VAULT_MEMORY_REMOTE_POLL_SECONDS": "0.5",
        }

    def vault(self, folder: Path, *, quick: bool = True, **settings: str) -> Outside:
        """An empty vault that is kept in step."""
        vault, home = folder / "vault", folder / "home"
        vault.mkdir(parents=True)
        home.mkdir()
        return Outside(vault, home, {**KEYWORDS_ONLY, **self.settings, **settings}, quick=quick)

    def files(self) -> dict[str, bytes]:
        """What lies in the folder on the server."""
        held = self.server.files().items()
        return {path.removeprefix("Notes/"): raw for path, raw in held if path.startswith("Notes/")}

    def password_file(self, folder: Path) -> Path:
        file = folder / "secret"
        file.write_text(self.server.app_password + "\n")
        file.chmod(0o600)
        return file


@contextmanager
def running_cloud(clock: Callable[[], float] = time.time) -> Iterator[Cloud]:
    """With an empty folder `Notes`."""
    server = FakeNextcloud(clock=clock)
    server.other_client_mkcol("Notes")
    with Front(server) as front:
        yield Cloud(server, front.url)
