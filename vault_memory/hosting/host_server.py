"""The HTTP server of a host: the calls of bots, MCP and the pages of all vaults, by token."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from vault_memory.config.server_sections import Serve
from vault_memory.hosting.host_metrics import metrics_routes
from vault_memory.http import listen
from vault_memory.http.listen import Listening
from vault_memory.http.many_pages.page_router import PageRouter
from vault_memory.http.many_pages.resident_pages import ResidentPages
from vault_memory.http.many_vaults import HostRoutes, many_vaults_application
from vault_memory.http.page.page_address import PageAddress
from vault_memory.http.page.page_app import PageSettings
from vault_memory.http.page.running import announced_host
from vault_memory.http.prometheus import Requests
from vault_memory.vault.state_dir import state_root

if TYPE_CHECKING:
    from vault_memory.hosting.vault_host import VaultHost


def serve_host(
    host: "VaultHost",
    listening: Listening,
    mounts: Mapping[str, ASGIApp],
    ready: Callable[[], None],
    *,
    with_page: bool,
) -> None:
    """Answers requests until SIGTERM or SIGINT, and then the open ones."""
    settings = host.config.serve
    counts = Requests()
    own = metrics_routes(host, counts)
    with ExitStack() as stack:
        page, stop_streams = None, None
        if with_page:
            page_settings = _page_settings(settings, listening)
            pages = ResidentPages(host.residents, page_settings)
            page = PageRouter(host.residents, pages, page_settings)
            stop_streams = pages.stop_streams
            host.residents.tell_reopening = pages.end_soon
            url = page_settings.address.url
            states = state_root(host.catalog.environment)
            stack.enter_context(announced_host(host.catalog.folder, states, url))
        routes = HostRoutes(page, mounts, own)
        app = many_vaults_application(host.residents, host, settings, routes, counts)

        def stopping() -> None:
            host.begin_stop()
            if stop_streams is not None:
                stop_streams()

        listen.listen(app, listening.socket, ready, stopping)


def _page_settings(
    settings: Serve,
    listening: Listening,
) -> PageSettings:
    port = listening.socket.getsockname()[1]
    # A browser leads each name below `localhost` to this machine.
    is_local = listen.is_local(settings.host)
    name = "vaults.localhost" if is_local else settings.host
    return PageSettings(PageAddress(name, port), allowed_hosts=settings.allowed_hosts)
