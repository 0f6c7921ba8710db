"""The process of a host: HTTP and MCP for all vaults of the fleet, until it is drained or ended."""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from vault_memory import places
from vault_memory.addons.fleet.fleet_config import FleetConfig
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerAway
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.fleet_service import HeldVaults, LedgerTokens
from vault_memory.addons.fleet.serving.forwarding import ALIVE_SECONDS, Forwarding
from vault_memory.addons.fleet.serving.host_counts import fleet_families
from vault_memory.config import state_file
from vault_memory.config.server_sections import Serve
from vault_memory.errors import Locked
from vault_memory.http import listen
from vault_memory.http.application import ServedRoutes, application
from vault_memory.http.auth import MAX_BODY_BYTES, Access
from vault_memory.http.prometheus import Requests, metrics_route
from vault_memory.mcp import streamable_http

logger = logging.getLogger(__name__)

LOCK = "host.lock"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two questions to a ledger that does not answer"""
Answer = TypeVar("Answer")


def when_it_answers(ask: Callable[[], Answer]) -> Answer:
    """Ask the ledger until it answers, which may be much later. Raises all but LedgerAway."""
    pause = FIRST_PAUSE
    while True:
        try:
            return ask()
        except LedgerAway as error:
            logger.warning("%s; the host waits for it", error.message)
        time.sleep(pause)
        pause = min(LONGEST_PAUSE, 2 * pause)


def serve(
    fleet: FleetConfig, ledger: Ledger, listening: socket.socket, ready: Callable[[str], None]
) -> None:
    """Hold and serve vaults until SIGTERM, SIGINT or a drain. `ready` gets the address.

    Raises Locked when another process has the scratch of this host.
    """
    address = fleet.config.fleet.address or _address_of(listening)
    places.make_private(fleet.scratch)
    own = HostName(fleet.host, address, fleet.config.fleet.most_open)
    try:
        # Fault: two processes of one name would write to one scratch.
        with state_file.lock(fleet.scratch / LOCK, patience=0):
            _serve(fleet, ledger, listening, own, ready)
    except state_file.LockTaken:
        raise Locked(
            f"a host `{own.name}` runs already on this machine",
            hint="stop it, or choose another `fleet.name`",
        ) from None


def _serve(
    fleet: FleetConfig,
    ledger: Ledger,
    listening: socket.socket,
    own: HostName,
    ready: Callable[[str], None],
) -> None:
    when_it_answers(partial(warn_of_address, ledger, own))
    host = FleetHost(ledger, fleet.visit_settings(), own, _end_this_process)
    tokens = LedgerTokens(ledger)
    settings = _with_address(fleet.config.serve, own.address)
    requests = Requests()
    numbers = metrics_route(
        partial(fleet_families, host),
        requests,
        "serve.metrics_token_file",
        fleet.config.serve.metrics_token_file,
        fleet.scratch,
    )
    mounts = {"/mcp": streamable_http.application(HeldVaults())}
    routes = ServedRoutes(mounts=mounts, own=numbers)
    calls = application(HeldVaults(), Access(tokens, settings), routes, requests)
    app = Forwarding(calls, host, tokens, MAX_BODY_BYTES)

    def say_ready() -> None:
        host.ready()
        ready(own.address)

    when_it_answers(host.start)
    try:
        listen.listen(app, listening, say_ready)
    finally:
        host.close()


def warn_of_address(ledger: Ledger, own: HostName) -> None:
    """Log a warning when a running host of another name has the address of this one."""
    for host in ledger.hosts():
        is_other = host.name != own.name and host.silent_seconds < ALIVE_SECONDS
        # Fault: hosts share a configuration with one `fleet.address`. Each would take requests
        # for the other one's vaults as its own, and pass none of them on.
        if is_other and host.address == own.address:
            logger.warning(
                "the host %s has the address %s, too: give each host its own `fleet.address`",
                host.name,
                own.address,
            )


def _end_this_process() -> None:
    """End as after `systemctl stop`: open requests are answered first."""
    os.kill(os.getpid(), signal.SIGTERM)


def _address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return listen.url_of(host, port)


def _with_address(settings: Serve, address: str) -> Serve:
    """Accept the name under which the other hosts pass requests on."""
    name = urlsplit(address).hostname or ""
    return settings._replace(allowed_hosts=(*settings.allowed_hosts, name))
