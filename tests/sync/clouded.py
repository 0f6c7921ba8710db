"""A fake Nextcloud that other people use too, with an administrator, an upgrade now and then, and bad luck."""

import random
from base64 import b64encode
from dataclasses import dataclass
from hashlib import md5

from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.exchange import App
from tests.remote.servers.faults import Faulty, Script
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.world import Ledger
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud

MINUTE = 60.0


def connected(fake: FakeNextcloud, app: App | None = None, *, deadline: float = 300.0) -> Nextcloud:
    """A remote on it, without a network and without waiting."""
    return Nextcloud(
        f"http://cloud.example{fake.dav_path}",
        Account(fake.user, fake.app_password),
        adapter=DirectAdapter(app or fake),
        deadline=deadline,
        sleep=lambda seconds: None,
    )


def flaky(fake: FakeNextcloud, seed: int, rate: float) -> tuple[App, Script]:
    """The same over a line on which any byte may be the last."""
    script = Script.seeded(seed, rate)
    return Faulty(fake, script, sleep=lambda seconds: None), script


def bulk_upload(fake: FakeNextcloud, path: str, raw: bytes, *, mtime: int | None = None) -> None:
    """As desktop clients upload small files: many in one request, without any precondition."""
    head = [
        f"X-File-Path: /{path}",
        f"X-File-MD5: {md5(raw).hexdigest()}",
        f"Content-Length: {len(raw)}",
        f"X-OC-Mtime: {int(fake.clock()) if mtime is None else mtime}",
    ]
    part = b"--part\r\n" + "\r\n".join(head).encode() + b"\r\n\r\n" + raw + b"\r\n"
    credentials = b64encode(f"{fake.user}:{fake.app_password}".encode()).decode()
    headers = {
        "Authorization": f"Basic {credentials}",
        "Content-Type": "multipart/related; boundary=part",
    }
    answer = fake.handle("POST", "/remote.php/dav/bulk", headers, part + b"--part--\r\n")
    assert answer.status == 200


@dataclass
class Others:
    """What happens on the server without any of our devices."""

    fake: FakeNextcloud
    ledger: Ledger
    halves: bool = False
    """whether the server is killed in the middle of an overwrite"""

    def __call__(self, chance: random.Random) -> None:
        files = sorted(path for path in self.fake.files() if "-probe-" not in path)
        if self.fake.is_in_maintenance:
            return self.fake.maintenance(False)
        if not files:
            return None
        path = chance.choice(files)
        match chance.randrange(8 if self.halves else 7):
            case 0 | 1 | 2:
                self.edit(path)
            case 3:
                self.fake.new_tags()
            case 4:
                self.fake.list_omits_once(path)
            case 5:
                self.fake.lock(path, MINUTE)
            case 6:
                self.fake.maintenance()
            case 7:
                self.fake.kill_next_put_at(chance.randrange(40))
        return None

    def edit(self, path: str) -> None:
        """Somebody adds a line in the browser."""
        self.fake.other_client_put(path, self._with_line(path))

    def end(self) -> None:
        """From now on all is well."""
        self.fake.maintenance(False)
        for path in self.fake.files():
            self.fake.unlock(path)
        self.fake._cut_put = None
        self.fake.account.omitted.clear()

    def _with_line(self, path: str) -> bytes:
        line = self.ledger.line()
        text = f'{{"id": "{line}"}}\n' if path.endswith(".jsonl") else f"- {line}\n"
        return self.fake.files()[path] + text.encode()
