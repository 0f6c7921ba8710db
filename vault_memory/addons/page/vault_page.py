"""What `web` serves: the page of a vault, and without a vault the question which folder it is."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from json import JSONDecodeError, loads
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from vault_memory import places
from vault_memory.addons.page import render
from vault_memory.addons.page.browser_sessions import BrowserSessions, Rights
from vault_memory.addons.page.events import EventHub
from vault_memory.addons.page.forms import LARGEST_FORM, form_fields, read_form
from vault_memory.addons.page.guard import CSRF_FIELD
from vault_memory.addons.page.page_app import (
    PageSettings,
    error_view,
    guard_of,
    guarded_app,
    page_application,
)
from vault_memory.addons.page.passphrases import Passphrases
from vault_memory.addons.page.running import PageAddress, RunningPage, announced
from vault_memory.addons.page.shared_answers import MachineSight
from vault_memory.addons.page.signing import Signing
from vault_memory.admin import init_vault, layout_setup, owner
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.http import listen
from vault_memory.http.beside_calls import running
from vault_memory.rules.paths.layout_survey import LayoutProposal

SETUP = "/setup"
NEW_FOLDER = "Notes"
"""Below the home, where no folder of notes is known"""


class FolderFields(msgspec.Struct):
    """The form of the question."""

    folder: str
    name: str = ""
    """whose notes these are; not asked of a folder that is a vault already"""


class FolderLook(NamedTuple):
    """What a folder would be as a vault."""

    problem: str = ""
    is_vault: bool = False
    is_new: bool = False
    layout: LayoutProposal | None = None
    """the one that fits best; None for a new folder"""


def look_at(folder: str, states: Path) -> FolderLook:
    """Return what this folder would be as a vault. It writes to the folder `states` alone."""
    root = Path(folder)
    try:
        if not root.is_absolute() or "\0" in folder:
            return FolderLook("Write the whole path of the folder, from its first slash.")
        if not root.exists():
            is_possible = root.parent.is_dir()
            return FolderLook("" if is_possible else "There is no such folder.", is_new=True)
        is_vault = (root / places.MARKER).exists()
        environment = {**os.environ, "VAULT_MEMORY_STATE": str(states)}
        with VaultMemory.open(root, environment=environment, marks=False) as memory:
            return FolderLook(is_vault=is_vault, layout=layout_setup.proposals(memory.vault)[0])
    except (VaultMemoryError, OSError) as error:
        return FolderLook(f"This folder cannot be used: {getattr(error, 'strerror', '') or error}.")


def known_folders(environment: Mapping[str, str], current: Path) -> list[str]:
    """Return folders of notes on this machine, the likeliest first; else one that can be made."""
    home = Path.home()
    folders = [current] if current != home and any(map(current.glob, ("*.md", ".obsidian"))) else []
    settings = environment.get("XDG_CONFIG_HOME") or home / ".config"
    for place in (settings, home / "Library" / "Application Support"):
        # Fault: Obsidian may have been removed, and any program may write its files.
        with suppress(OSError, JSONDecodeError, AttributeError, KeyError, TypeError):
            vaults = loads((Path(place) / "obsidian" / "obsidian.json").read_bytes())["vaults"]
            folders += [Path(vault["path"]) for vault in vaults.values()]
    return list(dict.fromkeys(map(str, filter(Path.is_dir, folders)))) or [str(home / NEW_FOLDER)]


class MadeVault(NamedTuple):
    """A folder that became a vault on this page."""

    root: Path
    is_new: bool
    """whether the folder was made, too"""

    def remove(self, state: Path | None = None) -> None:
        """Remove what was made, and the state folder; nothing else."""
        (self.root / places.MARKER).unlink(missing_ok=True)
        if state is not None:
            shutil.rmtree(state, ignore_errors=True)
        if self.is_new:
            with suppress(OSError):
                self.root.rmdir()


def make_vault(fields: FolderFields, states: Path) -> MadeVault | None:
    """Make a folder a vault, as `init --user` does; None for a vault. Raises VaultMemoryError."""
    look = look_at(fields.folder, states)
    if look.problem:
        raise UsageError(look.problem.rstrip("."), hint="name another folder")
    if look.is_vault:
        return None
    made = MadeVault(Path(fields.folder), look.is_new)
    init_vault.make_vault(made.root, os.environ, empty=True)
    try:
        owner.set_owner(made.root, fields.name.strip())
    except VaultMemoryError:
        made.remove()
        raise
    return made


class VaultPage:
    """The ASGI app of `web`. It opens the vault again when the page has changed its set-up."""

    def __init__(
        self,
        root: Path | None,
        config: str | None,
        address: PageAddress,
        rights: Rights,
        waiting: Path,
    ) -> None:
        """`waiting` is a private folder for the sessions of before there is a vault."""
        self._root = root
        self._config = config
        self._address = address
        self._rights = rights
        self._waiting = self._state = waiting
        self._made: MadeVault | None = None
        self._taken_back: MadeVault | None = None
        self._is_outdated = False
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()
        self._hub: EventHub | None = None
        self._guard = guard_of(PageSettings(address), BrowserSessions(waiting))
        signing = Signing(self._guard, error_view, "", Passphrases(waiting))
        routes = [
            *(Route(path, self._ask, methods=["GET"]) for path in ("/", SETUP)),
            Route(f"{SETUP}/folder", self._make, methods=["POST"]),
            *signing.routes(),
        ]
        self._question = guarded_app(self._guard, error_view, routes, self._lifespan)
        self._app = self._question

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._question(scope, receive, send)
            return
        try:
            async with self._opening:
                if self._is_outdated:
                    await self._open()
        except VaultMemoryError as error:
            # The next request tries again.
            await error_view(error, Request(scope))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def stop(self) -> None:
        """End the streams, before the server waits for its answers."""
        if self._hub is not None:
            self._hub.stop()

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            await self._open()
            yield
        finally:
            await self._opened.aclose()

    async def _open(self) -> None:
        """Open the page of the vault, after closing the one that is open."""
        await self._opened.aclose()
        self._app = self._question
        if self._taken_back is not None:
            self._taken_back.remove(self._state)
            self._taken_back = None
        if self._root is not None:
            await self._open_vault(self._root)
        self._is_outdated = False

    async def _open_vault(self, root: Path) -> None:
        memory = await anyio.to_thread.run_sync(VaultMemory.open, root, self._config)
        self._opened.callback(memory.close)
        state = self._state = memory.vault.state.path
        BrowserSessions(state).take_over(self._waiting)
        page = RunningPage(self._address.url, self._rights)
        self._opened.enter_context(announced(state, page))
        hosts = memory.vault.config.serve.allowed_hosts
        is_here = self._address.host.endswith("localhost") or listen.is_local(self._address.host)
        machine = MachineSight(
            folder=os.path.abspath(root) if is_here and not hosts else "",
            reopen=self._reopen,
            undo=self._undo if self._made else None,
        )
        settings = PageSettings(self._address, self._rights, hosts, machine)
        self._hub = EventHub(memory)
        app = page_application(memory, settings, self._hub)
        await self._opened.enter_async_context(running(app))
        self._app = app

    def _reopen(self) -> None:
        self._is_outdated = True

    def _undo(self) -> None:
        """Take back that the folder became a vault, before the next request."""
        self._taken_back, self._made, self._root = self._made, None, None
        self._is_outdated = True

    async def _ask(self, request: Request) -> Response:
        folders = await anyio.to_thread.run_sync(known_folders, os.environ, Path.cwd())
        folder = os.path.expanduser(request.query_params.get("folder", "").strip() or folders[0])
        data = {
            "title": "Which folder is the memory?",
            "csrf": request.scope["state"]["session"].csrf,
            "folder": folder,
            "look": await anyio.to_thread.run_sync(look_at, folder, self._waiting),
            "others": [each for each in folders if each != folder],
            "name": owner.login_name(),
        }
        return render.html("folder.html", data)

    async def _make(self, request: Request) -> Response:
        try:
            form = await read_form(request, LARGEST_FORM)
            self._guard.check_form(request.scope["state"]["session"], form.take(CSRF_FIELD))
            fields = form_fields(form, {}, FolderFields)
            self._made = await anyio.to_thread.run_sync(make_vault, fields, self._waiting)
        except VaultMemoryError as error:
            return error_view(error, request)
        self._root = Path(fields.folder)
        self._is_outdated = True
        return RedirectResponse(SETUP, 303)
