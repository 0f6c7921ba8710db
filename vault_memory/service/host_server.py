"""The HTTP server of a host: the calls of bots, MCP and the pages of all vaults, by token."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vault_memory.addons import table
from vault_memory.api.metrics import Family, Sample
from vault_memory.http import listen, metrics_text
from vault_memory.http.application import ServedRoutes, many_vaults_application
from vault_memory.http.listen import Listening
from vault_memory.http.prometheus import CHALLENGE, FORMAT, PATH, Requests, may_read
from vault_memory.http.responses import HEADERS, refusal
from vault_memory.http.tokens import token_in
from vault_memory.service.host_report import state_of, trouble_of
from vault_memory.service.vault_host import memory_in_use

if TYPE_CHECKING:
    from vault_memory.service.vault_host import VaultHost


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
        routes = ServedRoutes(page, mounts, own)
        app = many_vaults_application(host, host, settings, routes, counts)

        def stopping() -> None:
            host.begin_stop()
            if stop_streams is not None:
                stop_streams()

        listen.listen(app, listening.socket, ready, stopping)


# --- Host metrics ---

# `/metrics` of a host: totals of all vaults, which name no vault and no person.

SETTING = "host.metrics_token_file"
STATES = ("closed", "open", "in_use", "failed", "refused")


def metrics_routes(host: "VaultHost", requests: Requests) -> list[Route]:
    """Returns the route; none when no token is configured. Raises TokenUnsafe."""
    return routes_of_numbers(
        lambda: host_families(host),
        requests,
        host.config.host.metrics_token_file,
        host.catalog.folder,
    )


def routes_of_numbers(
    families: Callable[[], list[Family]], requests: Requests, token_file: str, folder: Path
) -> list[Route]:
    """Returns the route for these numbers; none without a token. Raises TokenUnsafe.

    `folder` has the vaults: the token must be outside of it.
    """
    if not token_file:
        return []
    token = token_in(Path(token_file).expanduser(), SETTING, folder)

    async def answer(request: Request) -> Response:
        credentials = request.headers.getlist("authorization")
        if not may_read(credentials, token, for_local=False):
            return refusal(
                401,
                "unauthorised",
                "the numbers have a token of their own",
                f"send the token of `{SETTING}` as `Authorization: Bearer TOKEN`",
                CHALLENGE,
            )
        numbers = await anyio.to_thread.run_sync(families)
        text = metrics_text.as_text([*numbers, *requests.families()])
        return Response(text, 200, HEADERS, FORMAT)

    return [Route(PATH, answer, methods=["GET"])]


def host_families(host: "VaultHost") -> list[Family]:
    """Returns the numbers of the host."""
    vaults = host.vaults()
    states: Counter[str] = Counter(state_of(vault) for vault in vaults)
    states["refused"] = len(host.catalog.troubled())
    by_state = tuple(Sample(states[state], {"state": state}) for state in STATES)
    turns = tuple(Sample(lane.turns, {"kind": lane.name}) for lane in host.lanes.all())
    troubled = sum(bool(trouble_of(vault)) for vault in vaults)
    opened = sum(vault.opened for vault in vaults)
    return [
        Family("host_vaults", "gauge", "Vaults of the host, by state", by_state),
        Family(
            "host_vaults_troubled",
            "gauge",
            "Vaults that cannot be opened or read now",
            (Sample(troubled, {}),),
        ),
        Family(
            "host_openings_total", "counter", "How often a vault was opened", (Sample(opened, {}),)
        ),
        Family("host_turns_total", "counter", "Turns that were taken, by kind", turns),
        Family(
            "host_memory_bytes", "gauge", "Memory of the process", (Sample(memory_in_use(), {}),)
        ),
    ]
