"""Where a server listens: the options of a command over the configuration."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli.options import Context, grouped
from vault_memory.errors import UsageError
from vault_memory.http import listen

if TYPE_CHECKING:
    from vault_memory.config.server_sections import Serve


@dataclass(frozen=True, slots=True)
class Listener:
    """Where the command line says to listen; None leaves it to the configuration."""

    host: str | None
    port: int | None
    path: str | None
    web: bool
    http: bool = True
    """whether bots are served at all"""

    def words(self) -> list[str]:
        """Return the options that say this."""
        words: list[str] = []
        if not self.http:
            words.append("--no-http")
        if self.host is not None:
            words += ["--host", self.host]
        if self.port is not None:
            words += ["--port", str(self.port)]
        if self.path is not None:
            # Fault: a service has another current folder than this terminal.
            words += ["--socket", os.path.abspath(self.path)]
        if self.web:
            words.append("--web")
        return words


def listener_options(pages: str) -> Callable[[Any], Any]:
    """Return the options of a server as one value named `listener`; `pages` are what --web serves."""
    options = (
        click.option(
            "--host",
            metavar="ADDRESS",
            help="The address to listen on. Default: the configured one, else 127.0.0.1.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            help="The port to listen on; 0 takes any free port.",
        ),
        click.option(
            "--socket",
            "path",
            metavar="PATH",
            help="Listen on this Unix socket instead; only you can open it.",
        ),
        click.option("--web", is_flag=True, help=f"Serve {pages} for people, too."),
    )

    def decorate(function: Any) -> Any:
        function = grouped(Listener, "listener")(function)
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def listener_settings(configured: "Serve", place: Listener, *, hint: str) -> "Serve":
    """Return the configuration with the options of the command line over it.

    `hint` tells what to do about options that exclude each other. Raises UsageError.
    """
    names_address = place.host is not None or place.port is not None
    if names_address and place.path is not None:
        raise UsageError("--socket excludes --host and --port", hint=hint)
    settings = configured
    if place.host is not None:
        settings = settings._replace(host=place.host)
    if place.port is not None:
        settings = settings._replace(port=place.port)
    if place.path is not None:
        settings = settings._replace(socket=place.path)
    # An address on the command line overrides a configured socket.
    return settings._replace(socket="") if names_address else settings


def warn_if_unencrypted(context: Context, settings: "Serve") -> None:
    """Warn when other machines reach the server."""
    if not settings.socket and not listen.is_local(settings.host):
        context.say(
            "warning: others can read unencrypted requests on the network; "
            "put a server with TLS in front of this one"
        )
