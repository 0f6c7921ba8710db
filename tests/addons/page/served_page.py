"""The page as its users have it: a real server on a real port, asked like a browser does."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx

from tests.http.served import running
from vault_memory.addons.page.browser_sessions import BrowserSessions, Rights
from vault_memory.addons.page.events import EventHub
from vault_memory.addons.page.page_app import PageSettings, page_application
from vault_memory.addons.page.running import PageAddress
from vault_memory.addons.page.shared_answers import MachineSight
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http.listen import Server, at_address

HOST = "vault-test.localhost"
CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
PATIENCE_SECONDS = 120
ALL_RIGHTS = Rights()
THIS_MACHINE = MachineSight()


@dataclass
class ServedPage:
    """A page that is served, and clients of it."""

    memory: VaultMemory
    port: int
    sessions: BrowserSessions
    clients: list[httpx.Client] = field(default_factory=list)
    name: str = HOST

    @property
    def origin(self) -> str:
        return f"http://{self.name}:{self.port}"

    def stranger(self, **headers: str) -> httpx.Client:
        """A browser that has opened no link. It finds the host without asking a resolver."""
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"host": f"{self.name}:{self.port}", **headers},
            timeout=PATIENCE_SECONDS,
        )
        self.clients.append(client)
        return client

    def link(self, *users: str, may_write: bool = True) -> str:
        """The path of a new link."""
        return f"/open/{self.sessions.make_link(Rights(users or None, may_write))}"

    def browser(self, *users: str, may_write: bool = True) -> "Browser":
        """A browser that is signed in; with names it sees the notes of these people only."""
        client = self.stranger()
        link = self.link(*users, may_write=may_write)
        answer = client.post(link, headers={"origin": self.origin})
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].partition(";")[0]
        client.cookies.clear()
        client.headers["cookie"] = cookie
        # Not each view has a form with the token.
        session = self.sessions.find(cookie.partition("=")[2])
        assert session is not None
        return Browser(client, self.origin, session.csrf)


@dataclass
class Browser:
    """A client that is signed in, and posts forms as a browser does."""

    client: httpx.Client
    origin: str
    csrf: str

    def get(self, path: str) -> httpx.Response:
        answer = self.client.get(path)
        if token := CSRF.search(answer.text):
            self.csrf = token.group(1)
        return answer

    def post(
        self, path: str, fields: Mapping[str, str | list[str]], **headers: str
    ) -> httpx.Response:
        """Posts a form with the token of the session."""
        return self.client.post(
            path,
            data={"csrf": self.csrf, **fields},
            headers={"origin": self.origin, "sec-fetch-site": "same-origin", **headers},
        )


@contextlib.contextmanager
def serving_page(
    memory: VaultMemory, rights: Rights = ALL_RIGHTS, machine: MachineSight = THIS_MACHINE
) -> Iterator[ServedPage]:
    """A server in a thread of this process, on a port of its own."""
    listening = at_address("127.0.0.1", 0)
    port = listening.getsockname()[1]
    hub = EventHub(memory)
    settings = PageSettings(PageAddress(HOST, port), rights, machine=machine)
    app = page_application(memory, settings, hub)
    server = Server(app, stopping=hub.stop)
    page = ServedPage(memory, port, BrowserSessions(memory.vault.state.path))
    with running(server, listening):
        try:
            yield page
        finally:
            for client in page.clients:
                client.close()
