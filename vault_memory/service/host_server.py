"""The HTTP server of a host: the calls of bots, MCP and the pages of all vaults, by token."""

import os
import resource
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from vault_memory.addons import table
from vault_memory.api.metrics import Family, Sample
from vault_memory.http import listen
from vault_memory.http.application import ServedRoutes, application
from vault_memory.http.auth import Access
from vault_memory.http.listen import Listening
from vault_memory.http.prometheus import Requests, metrics_route
from vault_memory.service.host_report import state_of, trouble_of

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
    numbers = metrics_route(
        partial(host_families, host),
        counts,
        "serve.metrics_token_file",
        host.config.serve.metrics_token_file,
        host.catalog.folder,
    )
    with ExitStack() as stack:
        page, stop_streams = None, None
        if with_page:
            beside = table.part("page.beside")
            page, stop_streams = stack.enter_context(beside.host_pages(host, listening))
        routes = ServedRoutes(page, mounts, numbers)
        app = application(host, Access(host, settings), routes, counts)

        def stopping() -> None:
            host.begin_stop()
            if stop_streams is not None:
                stop_streams()

        listen.listen(app, listening.socket, ready, stopping)


# --- Host metrics ---

# `/metrics` of a host: totals of all vaults, which name no vault and no person.

STATES = ("closed", "open", "in_use", "failed", "refused")


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
        memory_in_use(),
    ]


def memory_in_use() -> Family:
    """Returns the bytes of memory that this process uses, for `/metrics`."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            count = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        # Systems without `/proc` tell only the most that was ever used.
        count = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Family("host_memory_bytes", "gauge", "Memory of the process", (Sample(count, {}),))
