"""`serve`: the calls over HTTP, for bots with a token, or over a Unix socket of one's own."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.optional_dependencies import has, need
from vault_memory.cli.options import Context, common, private
from vault_memory.errors import ConfigError, UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.config.sections import Serve
    from vault_memory.edits import people
    from vault_memory.http import application, listen
    from vault_memory.http import tokens as http_tokens
    from vault_memory.mcp import transports
    from vault_memory.rules.paths import caller
    from vault_memory.rules.paths.caller import Caller
    from vault_memory.vault import marker
else:
    people = lazy_module("vault_memory.edits.people")
    application = lazy_module("vault_memory.http.application")
    listen = lazy_module("vault_memory.http.listen")
    http_tokens = lazy_module("vault_memory.http.tokens")
    transports = lazy_module("vault_memory.mcp.transports")
    caller = lazy_module("vault_memory.rules.paths.caller")
    marker = lazy_module("vault_memory.vault.marker")

LOOPBACK = ("127.", "::1", "localhost")


class NobodyMayAsk(ConfigError):
    """There is no token, so nobody could be let in."""

    def __init__(self, config: Path) -> None:
        super().__init__(
            "nobody may ask: there is no token in the configuration",
            hint="make one with `vault-memory serve --new-token FILE --user NAME`, and put what it prints into"
            f" `{config}`; or serve one person on a socket of yours: `vault-memory serve --socket PATH --user NAME`",
        )


@click.command()
@click.option(
    "--host",
    metavar="ADDRESS",
    help="The address to listen on; 127.0.0.1 unless configured.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 takes any that is free.",
)
@click.option(
    "--socket",
    "path",
    metavar="PATH",
    help="Listen on this Unix socket instead, which only you can open.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="With --socket: whom those serve who come without a token.",
)
@click.option(
    "--channel",
    default="",
    metavar="NAME",
    help="With --user: the channel where the bot answers.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="With --user: a group that is open, too.",
)
@private
@click.option(
    "--new-token",
    "new_token",
    metavar="FILE",
    help="Make a token for --user in a new file, and end.",
)
@common
@click.pass_obj
def serve(
    context: Context,
    host: str | None,
    port: int | None,
    path: str | None,
    user: str | None,
    channel: str,
    groups: tuple[str, ...],
    private: bool,
    new_token: str | None,
) -> None:
    """Answer bots over HTTP until stopped: the calls under /v1, described by /openapi.json, and MCP at /mcp.

    Each bot has a token, named in [[serve.tokens]] of the configuration, which opens the notes of one person.
    """
    if new_token:
        _make_token(context, new_token, user, channel, groups, private=private)
        return
    need("web")
    with context.open() as memory:
        settings = _settings(memory.vault.config.serve, host, port, path)
        if not settings.socket and (user or channel or groups or private):
            raise UsageError(
                "--user, --channel, --group and --private go with --socket",
                hint="over TCP, tokens say who is who",
            )
        _serve(
            context, memory, settings, _local(user, channel, groups, private=private)
        )


def _settings(
    configured: "Serve", host: str | None, port: int | None, path: str | None
) -> "Serve":
    """The flags over the configuration; who names an address wants no socket."""
    tcp = host is not None or port is not None
    if tcp and path is not None:
        raise UsageError(
            "--socket goes without --host and --port", hint="run two, one for each"
        )
    return configured._replace(
        host=configured.host if host is None else host,
        port=configured.port if port is None else port,
        socket="" if tcp else configured.socket if path is None else path,
    )


def _local(
    user: str | None, channel: str, groups: Sequence[str], *, private: bool
) -> "Caller | None":
    if user is None and not channel and not groups:
        return None
    return caller.Caller(user or "", channel, tuple(groups), private)


def _serve(
    context: Context, memory: "VaultMemory", settings: "Serve", local: "Caller | None"
) -> None:
    tokens = http_tokens.Tokens.load(settings.tokens, root=memory.root)
    for row in settings.tokens:
        people.refuse_twin(row.user, memory.root, memory.layout)
    if (
        not tokens
        and local is None
        and not settings.metrics_token_file
        and not memory.vault.config.talk.secret_file
    ):
        raise NobodyMayAsk(memory.vault.config_file or memory.vault.state.config_file)
    if not settings.socket and not settings.host.startswith(LOOPBACK):
        context.say(
            "warning: what goes over the wire can be read there; put a server with TLS in front of this one"
        )
    app = application.application(
        memory, tokens, _mounted(memory), local=local, settings=settings
    )
    listening, place = _listening(settings)
    listen.listen(app, listening, lambda: context.say(f"listening on {place}"))
    context.say("stopped")


def _mounted(memory: "VaultMemory") -> "dict[str, ASGIApp]":
    """Besides the calls under /v1: MCP, where its extra is installed."""
    if not has("mcp"):
        return {}
    return {"/mcp": transports.application(memory)}


def _listening(settings: "Serve") -> "tuple[socket.socket, str]":
    if settings.socket:
        path = Path(settings.socket).expanduser()
        return listen.at_socket(path), str(path)
    listening = listen.at_address(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return listening, f"http://{host}:{listening.getsockname()[1]}"


def _make_token(
    context: Context,
    name: str,
    user: str | None,
    channel: str,
    groups: Sequence[str],
    *,
    private: bool,
) -> None:
    """A file that only its owner can read, and the lines that name it; the token itself is not shown."""
    import secrets

    if not user:
        raise UsageError(
            "a token opens the notes of a person", hint="name them with `--user NAME`"
        )
    path = Path(os.path.abspath(Path(name).expanduser()))
    if any((folder / marker.NAME).exists() for folder in path.parents):
        raise UsageError(
            f"`{path}` lies in a vault, which is synced", hint="name a file outside"
        )
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(
            f"`{path}` is there already",
            hint="name a file that is not; the bots may use that one",
        ) from None
    with os.fdopen(fd, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(32) + "\n")
    rows = {"user": user, "token_file": str(path), "channel": channel}
    lines = [
        "[[serve.tokens]]",
        *(f"{key} = {_quoted(value)}" for key, value in rows.items() if value),
    ]
    if groups:
        lines.append(f"groups = [{', '.join(map(_quoted, groups))}]")
    lines += ["private = true"] if private else []
    context.say(
        f"a new token lies in {shlex.quote(str(path))}; this names it in the configuration:"
    )
    context.emit(
        {"token_file": str(path), "toml": "\n".join(lines)}, lambda: "\n".join(lines)
    )


def _quoted(text: str) -> str:
    """As TOML has it."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
