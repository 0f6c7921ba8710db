"""The HTTP server of a host: the calls of bots, MCP and the pages of all vaults, by token."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from vault_memory.addons import table
from vault_memory.hosting.host_metrics import metrics_routes
from vault_memory.http import listen
from vault_memory.http.listen import Listening
from vault_memory.http.many_vaults import HostRoutes, many_vaults_application
from vault_memory.http.prometheus import Requests

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
            beside = table.part("page.beside")
            page, stop_streams = stack.enter_context(beside.host_pages(host, listening))
        routes = HostRoutes(page, mounts, own)
        app = many_vaults_application(host.residents, host, settings, routes, counts)

        def stopping() -> None:
            host.begin_stop()
            if stop_streams is not None:
                stop_streams()

        listen.listen(app, listening.socket, ready, stopping)
