"""The page beside the calls for bots: of one vault, and of the vaults of a host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from vault_memory import places
from vault_memory.addons.page.events import EventHub
from vault_memory.addons.page.many_pages import HostPages
from vault_memory.addons.page.outside_programs import PublicGate
from vault_memory.addons.page.page_app import PageSettings, page_application
from vault_memory.addons.page.page_commands import open_page
from vault_memory.addons.page.running import (
    PageAddress,
    RunningPage,
    announced,
    announced_host,
    default_address,
)
from vault_memory.addons.page.shared_answers import MachineSight
from vault_memory.http import listen
from vault_memory.http.beside_calls import page_beside_calls

if TYPE_CHECKING:
    import socket

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli.options import Context
    from vault_memory.config.server_sections import Serve
    from vault_memory.http.listen import Listening
    from vault_memory.service.vault_host import VaultHost


def serve_with_page(
    context: "Context",
    memory: "VaultMemory",
    calls: ASGIApp,
    listening: "socket.socket",
    say_where: Callable[[], None],
    connector: PublicGate | None = None,
) -> None:
    """Serve the calls and the page on one port. Raises Locked when the page runs already.

    `connector` has the address at which others reach both, and lets programs in.
    """
    host, port = listening.getsockname()[:2]
    place = default_address(memory.root)._replace(port=port)
    # Fault: a name below `localhost` leads other machines to themselves.
    if not listen.is_local(host):
        place = place._replace(host=host)
    names = memory.vault.config.serve.allowed_hosts
    url = place.url
    if connector is not None:
        url = connector.url
        names = (*names, connector.host)
        calls = connector.around(calls)
    settings = PageSettings(place, allowed_hosts=names, connector=connector)
    hub = EventHub(memory)
    page = page_application(memory, settings, hub)
    app = page_beside_calls(calls, page)
    state = memory.vault.state.path

    def ready() -> None:
        say_where()
        open_page(context, state, url, in_browser=False)

    with announced(state, RunningPage(url, settings.rights)):
        listen.listen(app, listening, ready, hub.stop)


@contextmanager
def host_pages(
    host: "VaultHost", listening: "Listening"
) -> Iterator[tuple[ASGIApp, Callable[[], None]]]:
    """Yields the pages of all vaults, and what ends their streams. Raises Locked."""
    settings = _host_settings(host.config.serve, listening)
    pages = HostPages(host, settings)
    host.tell_reopening = pages.end_soon
    states = Path(places.state_root(host.catalog.environment))
    with announced_host(host.catalog.folder, states, settings.address.url):
        yield pages, pages.stop_streams


def _host_settings(settings: "Serve", listening: "Listening") -> PageSettings:
    port = listening.socket.getsockname()[1]
    # A browser leads each name below `localhost` to this machine.
    is_local = listen.is_local(settings.host)
    name = "vaults.localhost" if is_local else settings.host
    # The programs of this machine are not those of the people who look.
    machine = MachineSight(hosts=False)
    address = PageAddress(name, port)
    return PageSettings(address, allowed_hosts=settings.allowed_hosts, machine=machine)
