"""Where a server listens: the options of a command over the configuration."""

from typing import TYPE_CHECKING, NamedTuple

from vault_memory.cli.options import Context
from vault_memory.errors import UsageError
from vault_memory.http import listen

if TYPE_CHECKING:
    from vault_memory.config.server_sections import Serve


class NamedPlace(NamedTuple):
    """Where the command line says to listen; None leaves it to the configuration."""

    host: str | None
    port: int | None
    path: str | None


def listener_settings(configured: "Serve", place: NamedPlace, *, hint: str) -> "Serve":
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
