"""`serve` and `mcp`: the calls for bots over HTTP or a Unix socket, and tools over stdin."""

import os
import shlex
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.addons import table
from vault_memory.api import vault_service
from vault_memory.cli import quick_start
from vault_memory.cli.listener_settings import (
    Listener,
    listener_options,
    listener_settings,
    warn_if_unencrypted,
)
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context, common, grouped, new_name, private, scope_option
from vault_memory.errors import ConfigError, NoVault, UsageError
from vault_memory.http import application, auth, listen, prometheus
from vault_memory.http import tokens as http_tokens
from vault_memory.mcp import stdio, streamable_http
from vault_memory.rules.paths import scopes
from vault_memory.service import watched_index
from vault_memory.vault import marker

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.config.server_sections import Serve
    from vault_memory.contract.setup_answers import TokenJson
    from vault_memory.rules.paths.scopes import Caller


class NobodyMayAsk(ConfigError):
    """No access token is configured; every request would be rejected."""

    def __init__(self, config: Path) -> None:
        super().__init__(
            "no access token is configured, so every request would be rejected",
            hint="make a token with `vault-memory serve --new-token FILE --user NAME`, and add "
            f"the lines it prints to `{config}`; to serve one person without a token, run "
            "`vault-memory serve --socket PATH --user NAME`",
        )


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """The person that a request without a token serves, or that a new token serves."""

    user: str | None
    channel: str
    groups: tuple[str, ...]
    private: bool

    def caller(self) -> "Caller | None":
        """Return the caller of a request without a token; None without a name."""
        if self.user is None and not self.channel and not self.groups:
            return None
        return scopes.Caller(self.user or "", self.channel, self.groups, self.private)


NOBODY = LocalCaller(None, "", (), private=False)
"""None of the options was given"""


@click.command()
@listener_options("the page")
@scope_option("--user", help="With --socket: the person whom requests without a token serve.")
@scope_option("--channel", default="", help="With --user: the channel where the bot answers.")
@scope_option(
    "--group",
    "groups",
    multiple=True,
    help="With --user: also open the notes of this group (repeatable).",
)
@new_name
@private
@click.option(
    "--public",
    metavar="URL",
    help="The https address at which programs outside connect, and people sign in to the page.",
)
@click.option(
    "--new-token",
    "new_token",
    metavar="FILE",
    help="Make a token for --user, write it to a new FILE, and exit.",
)
@common
@click.pass_obj
@grouped(LocalCaller, "local")
def serve(
    context: Context,
    listener: Listener,
    local: LocalCaller,
    public: str | None,
    new_token: str | None,
) -> None:
    """Serve bots over HTTP until Ctrl-C: calls below /v1, and MCP at /mcp.

    /openapi.json describes the calls. Each bot has a token, which opens the notes of one
    person. [[serve.tokens]] in the configuration lists the tokens.

    \b
    Examples:
      vault-memory serve --new-token ~/bot.token --user mira
      vault-memory serve --port 8377
    """
    if new_token:
        # Fault: a token of a misspelt name would serve nobody's memory.
        with suppress(NoVault):
            context.open(marks=False).close()
        _make_token(context, new_token, local)
        return
    need("web")
    with context.open() as memory:
        settings = listener_settings(
            memory.vault.config.serve, listener, hint="run `serve` twice, once for each"
        )
        if not settings.socket and local != NOBODY:
            raise UsageError(
                "--user, --channel, --group and --private need --socket",
                hint="give `--socket PATH`; over TCP, the token of a request says whom it serves",
            )
        with_page = listener.web or public is not None
        if with_page and settings.socket:
            raise UsageError(
                "--web and --public need an address: no browser opens a socket",
                hint="leave `--socket` out, or run `vault-memory web`",
            )
        with closing(watched_index.WatchedIndex(memory)) as watched:
            memory.vault.indexing.is_fresh = watched.is_fresh
            _serve(context, memory, settings, local.caller(), public, with_page=with_page)


def _serve(
    context: Context,
    memory: "VaultMemory",
    settings: "Serve",
    local: "Caller | None",
    public: str | None,
    *,
    with_page: bool,
) -> None:
    callers = http_tokens.load_tokens(settings.tokens, root=memory.root, layout=memory.layout)
    tokens = http_tokens.Tokens({"": callers})
    # Fault: a server that refuses each request looks as if it worked.
    if not (
        tokens
        or local
        or settings.metrics_token_file
        or memory.vault.config.talk.secret_file
        or with_page
    ):
        raise NobodyMayAsk(memory.vault.config_file or memory.vault.state.config_file)
    warn_if_unencrypted(context, settings)
    access, requests = auth.Access(tokens, settings, local), prometheus.Requests()
    connector = None
    own = application.vault_routes(memory, access, requests)
    if public is not None:
        need("connector")
        connector = table.part("connector.connector").Connector(memory, public)
        access = connector.access(access)
        own += connector.routes()
    service = vault_service.SingleVault(memory)
    mounts = {"/mcp": streamable_http.application(service)}
    routes = application.ServedRoutes(mounts=mounts, own=own)
    app = application.application(service, access, routes, requests)
    listening = listen.listening_of(settings)

    def say_where() -> None:
        context.say(f"listening on {listening.address}")

    if with_page:
        beside = table.part("page.beside")
        beside.serve_with_page(context, memory, app, listening.socket, say_where, connector)
    else:
        listen.listen(app, listening.socket, say_where)
    context.say("stopped")


def _make_token(context: Context, name: str, local: LocalCaller) -> None:
    """Write a new token to a file, and print the configuration that names the file.

    The token itself is not printed, because terminals keep what they show.
    """
    import secrets

    if not local.user:
        raise UsageError(
            "a token needs the person whose notes it opens",
            hint="name the person with `--user NAME`",
        )
    path = Path(name).expanduser().resolve()
    # Sync would upload the token.
    if any((folder / marker.NAME).exists() for folder in path.parents):
        raise UsageError(
            f"`{path}` is in a vault, which is synced", hint="name a file outside of the vault"
        )
    try:
        # The mode is set at the creation: no other user can open the file before the token is in.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
    except FileExistsError:
        raise UsageError(
            f"`{path}` exists already, and bots may use its token", hint="name a new file"
        ) from None
    with os.fdopen(fd, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(32) + "\n")
    toml = _token_table(str(path), local)
    context.say(
        f"a new token is in {shlex.quote(str(path))}; add these lines to the configuration:"
    )
    answer: TokenJson = {"token_file": str(path), "toml": toml}
    context.emit(answer, lambda: toml)


def _token_table(path: str, local: LocalCaller) -> str:
    """Return the table of the configuration for a token."""
    import json

    values = {
        "user": local.user,
        "token_file": path,
        "channel": local.channel,
        "groups": local.groups,
        "private": local.private,
    }
    # TOML writes these values as JSON does.
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value
    ]
    return "\n".join(["[[serve.tokens]]", *lines])


@click.command()
@scope_option("--user", help="The person whose memory to serve. Required.")
@scope_option("--channel", default="", help="The channel where the bot answers.")
@scope_option(
    "--group", "groups", multiple=True, help="Also open the notes of this group (repeatable)."
)
@click.option(
    "--host",
    default="",
    metavar="NAME",
    help="The program that starts this command; `install --check` tells when it did. "
    "One with hooks is not told to ask for what they give.",
)
@new_name
@private
@common
@click.pass_obj
def mcp(
    context: Context,
    user: str | None,
    channel: str,
    groups: tuple[str, ...],
    host: str,
    private: bool,
) -> None:
    """Serve tools and notes to an MCP client over standard input and output.

    The client cannot open the notes of anybody else. The command ends when the client
    closes its standard input. `serve` offers the same tools over HTTP at /mcp.

    \b
    Example:
      vault-memory --vault ~/vault mcp --user mira
    """
    if not user:
        raise UsageError(
            "`mcp` does not know whose memory to serve", hint="name the person with `--user NAME`"
        )
    for name in (user, channel, *groups):
        # Python reads a byte of an argument that is not UTF-8 as half of a surrogate pair.
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise UsageError(
                f"{name!r} is not a name: it is not valid UTF-8",
                hint="write it as its folder is named",
            )
    caller = scopes.Caller(user, channel, groups, private, confirms=True)
    # Opened before the first call, so that the client's log shows errors at once.
    memory = context.open()
    if sys.stdin.isatty():
        context.say(
            "waiting for an MCP client on standard input; a client starts this command by itself"
        )
    has_hooks = quick_start.runs_hooks(host)
    stdio.serve(lambda: memory, lambda: caller, has_hooks=has_hooks)
