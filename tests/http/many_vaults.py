"""A server of three vaults. Each has a Mira of its own, and a note with a word of its own."""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx

from tests.addons.page.served_page import ServedPage
from tests.http.served import access_of, digests_of, running
from tests.settled_marker import settle_marker
from vault_memory.addons.page.browser_sessions import BrowserSessions, key_prefix
from vault_memory.addons.page.many_pages import HostPages
from vault_memory.addons.page.page_app import PageSettings
from vault_memory.addons.page.running import PageAddress
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import RequestState, VaultUnknown
from vault_memory.http.application import ServedRoutes, application
from vault_memory.http.listen import Server, at_address
from vault_memory.http.prometheus import Requests
from vault_memory.http.tokens import Callers, TokenOwner, Tokens
from vault_memory.mcp import streamable_http
from vault_memory.rules.paths.scopes import Caller

NAMES = ("north", "south", "west")
WORDS = {"north": "albatross", "south": "bittern", "west": "cormorant"}
IDS = {"north": "a1" * 16, "south": "b2" * 16, "west": "c3" * 16}
"""The ids of the vaults, by which the host finds them"""
HOST = "people.localhost"
TOKENS = {name: f"{name}-" + name[0] * 40 for name in NAMES}
NOTE = "Users/mira/memories/harbour.md"
PATIENCE_SECONDS = 120


class OpenVaults:
    """The service of a host that opens its vaults when they are asked for."""

    def __init__(self, folders: dict[str, Path], environment: dict[str, str]) -> None:
        """`folders` are by the ids of the vaults."""
        self.folders = folders
        self.environment = environment
        self.memories: dict[str, VaultMemory] = {}
        self.in_use: Counter[str] = Counter()
        self.most_in_use: Counter[str] = Counter()
        self.openings: Counter[str] = Counter()
        self.trouble: dict[str, Exception] = {}
        """Vault → what happens when somebody opens it"""
        self._opening = threading.Lock()

    @asynccontextmanager
    async def vault(self, state: RequestState) -> AsyncIterator[VaultMemory]:
        vault = state["vault"]
        if vault not in self.folders:
            raise VaultUnknown
        name = name_of(vault)
        self.openings[name] += 1
        memory = await anyio.to_thread.run_sync(self.memory, name)
        self.in_use[name] += 1
        self.most_in_use[name] = max(self.most_in_use[name], self.in_use[name])
        try:
            yield memory
        finally:
            self.in_use[name] -= 1

    def memory(self, name: str) -> VaultMemory:
        with self._opening:
            if name in self.trouble:
                raise self.trouble[name]
            if name not in self.memories:
                self.memories[name] = VaultMemory.open(
                    self.folders[IDS[name]], environment=self.environment
                )
            return self.memories[name]

    def state_folder(self, vault: str) -> Path | None:
        if vault not in self.folders:
            return None
        return Path(self.environment["VAULT_MEMORY_STATE"]) / vault

    def close(self) -> None:
        for memory in self.memories.values():
            memory.close()


def name_of(vault: str) -> str:
    return next(name for name, id_ in IDS.items() if id_ == vault)


def vaults_in(folder: Path) -> OpenVaults:
    """Writes the three vaults."""
    folders = {}
    for name, word in WORDS.items():
        root = folder / "people" / name
        note = root / NOTE
        note.parent.mkdir(parents=True)
        note.write_text(f"# Harbour\n\n## Ferry\n\n- The ferry carries the {word}\n")
        (root / "Users/mira/lantern/config").mkdir(parents=True)
        settle_marker(root, IDS[name])
        folders[IDS[name]] = root
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith("VAULT_MEMORY_")
    }
    places = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_CACHE": str(folder / "cache"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    return OpenVaults(folders, {**outside, **places})


@dataclass
class Host:
    """A server of many vaults, and clients of it."""

    vaults: OpenVaults
    callers: dict[str, Callers]
    """Vault → the callers of its tokens; a test may change them while the server runs"""
    url: str
    counts: Requests
    pages: HostPages
    clients: list[httpx.Client] = field(default_factory=list)

    def client(self, token: str | None) -> httpx.Client:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS)
        self.clients.append(client)
        return client


def page_of(host: Host, name: str) -> ServedPage:
    """The page of one vault, as its own server would have it."""
    state = host.vaults.state_folder(IDS[name])
    assert state is not None
    sessions = BrowserSessions(state, key_prefix=key_prefix(IDS[name]))
    port = int(host.url.rpartition(":")[2])
    return ServedPage(host.vaults.memory(name), port, sessions, host.clients, name=HOST)


def callers_of(tokens: dict[str, str]) -> dict[str, Callers]:
    """Mira by her token in each vault."""
    return {IDS[name]: digests_of({token: Caller("mira")}) for name, token in tokens.items()}


@dataclass
class CurrentTokens:
    """The tokens of all vaults at this moment, as a host has them."""

    callers: dict[str, Callers]

    async def owner(self, digest: bytes) -> TokenOwner | None:
        return await Tokens(self.callers).owner(digest)


@contextlib.contextmanager
def serving_many(
    vaults: OpenVaults, most_pages: int = 8, idle_seconds: float = 60, **settings: Any
) -> Iterator[Host]:
    """A server in a thread of this process, on a port of its own."""
    listening = at_address("127.0.0.1", 0)
    port = listening.getsockname()[1]
    callers = callers_of(TOKENS)
    counts = Requests()
    page_settings = PageSettings(PageAddress(HOST, port))
    pages = HostPages(vaults, page_settings, most=most_pages, idle_seconds=idle_seconds)
    routes = ServedRoutes(page=pages, mounts={"/mcp": streamable_http.application(vaults)})
    app = application(vaults, access_of(CurrentTokens(callers), settings), routes, counts)
    host = Host(vaults, callers, f"http://127.0.0.1:{port}", counts, pages)
    with running(Server(app, stopping=pages.stop_streams), listening):
        yield host
        for client in host.clients:
            client.close()


Start = Callable[..., Host]


def starter(folder: Path, stack: ExitStack) -> Start:
    """Starts hosts of the three vaults until the stack closes."""
    vaults = vaults_in(folder)
    stack.callback(vaults.close)

    def start(**settings: Any) -> Host:
        return stack.enter_context(serving_many(vaults, **settings))

    return start
