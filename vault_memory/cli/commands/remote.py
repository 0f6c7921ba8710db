"""`remote`: where the vault is kept in step with."""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli.options import Context, common
from vault_memory.errors import CannotAsk, UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli.commands import status
    from vault_memory.config import remote_password
    from vault_memory.config.sections import Remote
    from vault_memory.daemon import client
    from vault_memory.sync import connection, setup
    from vault_memory.sync.setup import Tried
else:
    status = lazy_module("vault_memory.cli.commands.status")
    remote_password = lazy_module("vault_memory.config.remote_password")
    client = lazy_module("vault_memory.daemon.client")
    connection = lazy_module("vault_memory.sync.connection")
    setup = lazy_module("vault_memory.sync.setup")


@click.command()
@click.argument("action", type=click.Choice(["add", "test", "status", "remove"]))
@click.argument("url", required=False)
@click.option("--user", metavar="NAME", help="With add: the account there.")
@click.option(
    "--password-file",
    metavar="FILE",
    help="With add: a file of yours alone (mode 600) with the password.",
)
@click.option(
    "--login",
    is_flag=True,
    help="With add: let a Nextcloud give out an app password, in your browser.",
)
@click.option(
    "--folder",
    metavar="PATH",
    help="With add: the folder below URL; of a Nextcloud, in your files.",
)
@click.option(
    "--ca-file",
    metavar="FILE",
    help="With add: who signed the server's certificate, if not a known authority.",
)
@click.option(
    "--mode",
    type=click.Choice(["two-way", "pull", "push"]),
    help="With add: sync both ways, or one.",
)
@click.option(
    "--insist",
    is_flag=True,
    help="With add: both ways though the server ignores preconditions.",
)
@click.option(
    "--allow-http",
    is_flag=True,
    help="With add: send the password over http://, unencrypted.",
)
@common
@click.pass_obj
def remote(context: Context, /, action: str, url: str | None, **options: Any) -> int:
    """Keep the vault in step with a folder on a Nextcloud or another WebDAV server.

    \b
    add URL  tries the server, makes the folder if it is missing, and writes [remote] into the configuration
    test     finds out anew what the server does, and says what it means
    status   says how the sync stands
    remove   syncs no more; both folders stay as they are

    URL is the address of the Nextcloud, or of a WebDAV folder. The password is asked for, never given on the command
    line; use an app password, which you can take back by itself.
    """
    if (url is None) == (action == "add"):
        raise UsageError(
            "`remote add` needs a URL"
            if action == "add"
            else f"`remote {action}` takes no URL",
            hint="`vault-memory remote add https://cloud.example.org`",
        )
    with context.open() as memory:
        if action == "add":
            return _add(context, memory, str(url), options)
        if action == "test":
            tried = setup.test(memory.sync)
            context.emit(tried.as_json(), lambda: "\n".join(_tried(tried)))
        elif action == "status":
            _status(context, memory)
        else:
            url = memory.vault.config.remote.url
            setup.remove(memory.sync)
            context.emit(
                {"removed": url},
                lambda: f"{url} is not synced any more; both folders stay as they are",
            )
    return 0


def _add(
    context: Context, memory: "VaultMemory", url: str, options: Mapping[str, Any]
) -> int:
    wanted = _wanted(memory.vault.config.remote, options)
    if options["login"]:
        granted = setup.log_in(
            url,
            wanted,
            lambda page: context.say(f"open this page and say yes there:\n  {page}"),
        )
        found, password = granted.url, granted.password
        wanted = wanted._replace(user=granted.user, password_file="")
    else:
        if not wanted.user and sys.stdin.isatty():
            wanted = wanted._replace(user=click.prompt("User", err=True))
        found, password = setup.find_remote(url, wanted), ""
    is_question = setup.is_account_root(found) and found.rstrip("/") != url.rstrip("/")
    if options["folder"] or is_question:
        found = setup.below(found, options["folder"] or _folder(memory, found))
    if not (options["login"] or wanted.password_file):
        wanted, password = _password(memory, wanted)
    tried = setup.add(memory.sync, wanted._replace(url=found), password)
    context.emit(tried.as_json(), lambda: "\n".join(_tried(tried)))
    if not context.json:
        context.say(
            "next: `vault-memory sync --dry-run` shows what would be done; `vault-memory run` syncs by itself"
        )
    return 0


def _wanted(before: "Remote", options: Mapping[str, Any]) -> "Remote":
    from pathlib import Path

    file, authority = options["password_file"], options["ca_file"]
    return before._replace(
        ca_file=str(Path(authority).expanduser().absolute())
        if authority
        else before.ca_file,
        user=options["user"] or "",
        password_file=str(Path(file).expanduser().absolute()) if file else "",
        mode=options["mode"] or before.mode,
        insist=options["insist"],
        allow_http=options["allow_http"],
    )


def _folder(memory: "VaultMemory", found: str) -> str:
    if not sys.stdin.isatty():
        raise CannotAsk(
            "`remote add` asks for a folder in your files", "name one with `--folder`"
        )
    default = memory.root.resolve().name
    folder: str = click.prompt(f"Folder below {found}", default=default, err=True)
    return folder


def _password(memory: "VaultMemory", wanted: "Remote") -> "tuple[Remote, str]":
    """The password if it is to be stored; nothing if it comes from the service manager or the environment."""
    try:
        if (
            remote_password.password_of(wanted, memory.vault.environment, memory.root)
            or not wanted.user
        ):
            return wanted, ""
    except remote_password.PasswordUnsafe:
        pass
    if not sys.stdin.isatty():
        raise CannotAsk(
            "`remote add` asks for the password",
            "use `--password-file FILE`, `--login`, or VAULT_MEMORY_REMOTE_PASSWORD",
        )
    return wanted, click.prompt(
        f"App password of {wanted.user}", hide_input=True, err=True
    )


def _status(context: Context, memory: "VaultMemory") -> None:
    asked = (
        client.ask(memory.vault.state.socket, "status", {})
        if memory.vault.config.remote.url
        else None
    )
    found = (asked or {}).get("sync") or memory.sync.status()
    if found is None:
        raise connection.NoRemote
    context.emit(found, lambda: "\n".join(status.told(found)))


def _tried(tried: "Tried") -> Iterator[str]:
    yield f"{tried.server} ({tried.kind}, answers in {tried.milliseconds:.0f} ms)"
    if tried.created:
        yield "the folder was not there and has been made"
    yield from (f"  {words}" for words in tried.words)
    if tried.traits.two_way:
        yield "safe to sync both ways"
    else:
        yield "not safe to sync both ways: edits of two devices could overwrite one another"
