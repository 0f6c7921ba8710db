"""`remote`: sets up the server with which the vault is synced."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from vault_memory.cli import daemon_or_local
from vault_memory.cli.commands import status
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context, common, grouped
from vault_memory.config import remote_password
from vault_memory.errors import CannotAsk, UsageError
from vault_memory.sync import connection, setup

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.config.sections import RemoteSettings
    from vault_memory.contract.setup_answers import RemoteRemovedJson
    from vault_memory.sync.setup import RemoteTest


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """Options of `remote add`."""

    user: str | None
    password_file: str | None
    login: bool
    folder: str | None
    ca_file: str | None
    mode: Literal["two-way", "pull", "push"] | None
    insist: bool
    allow_http: bool
    endpoint: str | None
    region: str | None
    credentials_file: str | None


@click.command()
@click.argument("action", type=click.Choice(["add", "test", "status", "remove"]))
@click.argument("url", required=False)
@click.option("--user", metavar="NAME", help="With add: the account on the server.")
@click.option(
    "--password-file",
    metavar="FILE",
    help="With add: the file with the password, readable only by you (mode 600).",
)
@click.option(
    "--login",
    is_flag=True,
    help="With add: log in to a Nextcloud in your browser; it issues an app password.",
)
@click.option(
    "--folder",
    metavar="PATH",
    help="With add: the folder below URL; on a Nextcloud, the folder in your files.",
)
@click.option(
    "--ca-file",
    metavar="FILE",
    help="With add: the certificates to trust, if the system does not know them.",
)
@click.option(
    "--mode",
    type=click.Choice(["two-way", "pull", "push"]),
    help="With add: sync both ways, only download, or only upload.",
)
@click.option(
    "--insist",
    is_flag=True,
    help="With add: sync both ways although the server ignores preconditions.",
)
@click.option(
    "--allow-http",
    is_flag=True,
    help="With add: send the password, or the notes to a bucket, unencrypted over http://.",
)
@click.option("--endpoint", metavar="URL", help="With add s3://…: the store, if it is not Amazon.")
@click.option("--region", metavar="NAME", help="With add s3://…: the region of the bucket.")
@click.option(
    "--credentials-file",
    metavar="FILE",
    help="With add s3://…: the file with the AWS keys, readable only by you (mode 600).",
)
@common
@click.pass_obj
@grouped(RemoteOptions, "options")
def remote(context: Context, action: str, url: str | None, options: RemoteOptions) -> int:
    """Set up sync with a folder on a Nextcloud, another WebDAV server, or in S3.

    \b
    add URL  tests the server, creates the folder, and writes [remote] into the configuration
    test     tests the server again, and explains what it supports
    status   shows the state of sync
    remove   stops syncing; both folders stay as they are

    URL is the address of the Nextcloud, of a WebDAV folder, or of a folder in a bucket. The
    command asks for the password, which never appears on the command line. Use an app password,
    because you can revoke it separately. The keys for a bucket come from the usual AWS variables
    or from a file.

    \b
    Examples:
      vault-memory remote add https://cloud.example.org --login
      vault-memory remote add s3://bucket/notes --endpoint https://s3.example.org
    """
    if action == "add":
        if url is None:
            raise UsageError(
                "`remote add` needs a URL",
                hint="name the server, as in `vault-memory remote add https://cloud.example.org`",
            )
        with context.open() as memory:
            return _add(context, memory, url, options)
    if url is not None:
        raise UsageError(
            f"`remote {action}` takes no URL",
            hint=f"run `vault-memory remote {action}`; `remote add URL` changes the server",
        )
    with context.open() as memory:
        match action:
            case "test":
                _emit_test(context, setup.test(memory.sync))
            case "status":
                _emit_status(context, memory)
            case _:
                _remove(context, memory)
    return 0


def _remove(context: Context, memory: "VaultMemory") -> None:
    url = memory.vault.config.remote.url
    setup.remove(memory.sync)
    answer: RemoteRemovedJson = {"removed": url}
    context.emit(answer, lambda: f"{url} is not synced any more; both folders stay as they are")


def _add(context: Context, memory: "VaultMemory", url: str, options: RemoteOptions) -> int:
    settings = _settings(memory.vault.config.remote, options)
    password = ""
    is_bucket = url.lower().startswith("s3://")
    if is_bucket:
        need("s3")
    if options.login:
        granted = setup.log_in(
            url,
            settings,
            lambda page: context.say(f"open this page and approve the login there:\n  {page}"),
        )
        address = granted.url
        password = granted.password
        settings = settings._replace(user=granted.user, password_file="")
    else:
        if not settings.user and not is_bucket and sys.stdin.isatty():
            settings = settings._replace(user=click.prompt("User", err=True))
        address = setup.find_remote(url, settings)
    address = _with_folder(memory, url, address, options.folder)
    if not options.login and not settings.password_file and not is_bucket:
        password = _new_password(memory, settings)
    _emit_test(context, setup.add(memory.sync, settings._replace(url=address), password))
    if not context.json:
        context.say(
            "next: `vault-memory sync --dry-run` shows what would change; "
            "`vault-memory run` syncs by itself"
        )
    return 0


def _settings(previous: "RemoteSettings", options: RemoteOptions) -> "RemoteSettings":
    """Return the new section [remote], still without its URL."""
    ca_file = _absolute(options.ca_file) or previous.ca_file
    return previous._replace(
        ca_file=ca_file,
        user=options.user or "",
        password_file=_absolute(options.password_file),
        mode=options.mode or previous.mode,
        insist=options.insist,
        allow_http=options.allow_http,
        endpoint=(options.endpoint or "").rstrip("/"),
        region=options.region or "",
        credentials_file=_absolute(options.credentials_file),
    )


def _absolute(path: str | None) -> str:
    if path:
        return str(Path(path).expanduser().absolute())
    return ""


def _with_folder(memory: "VaultMemory", url: str, address: str, folder: str | None) -> str:
    """Return the address of the folder to sync; asks for it at the top of a Nextcloud account."""
    is_root = setup.is_account_root(address)
    # A user who typed the address of all files means all files.
    must_ask = is_root and address.rstrip("/") != url.rstrip("/")
    if not folder and not must_ask:
        return address
    return setup.below(address, folder or _ask_for_folder(memory, address))


def _ask_for_folder(memory: "VaultMemory", address: str) -> str:
    if not sys.stdin.isatty():
        raise CannotAsk("`remote add` asks for a folder in your files", "name one with `--folder`")
    default = memory.root.resolve().name
    folder: str = click.prompt(f"Folder below {address}", default=default, err=True)
    return folder


def _new_password(memory: "VaultMemory", settings: "RemoteSettings") -> str:
    """Ask for the password to store.

    Returns an empty text if the service manager or the environment has one, or no user is set.
    """
    environment = memory.vault.environment
    try:
        password = remote_password.password_of(settings, environment, memory.root)
        if password or not settings.user:
            return ""
    except remote_password.PasswordUnsafe:
        # The stored password is missing or unsafe; a new one replaces it.
        pass
    if not sys.stdin.isatty():
        raise CannotAsk(
            "`remote add` asks for the password",
            "use `--password-file FILE`, `--login`, or VAULT_MEMORY_REMOTE_PASSWORD",
        )
    answer: str = click.prompt(f"App password of {settings.user}", hide_input=True, err=True)
    return answer


def _emit_status(context: Context, memory: "VaultMemory") -> None:
    has_remote = bool(memory.vault.config.remote.url)
    answer = daemon_or_local.daemon_status(memory) if has_remote else None
    report = answer["sync"] if answer else None
    # A daemon that runs since before `remote add` has no status of sync yet.
    report = report or memory.sync.status()
    if report is None:
        raise connection.NoRemote
    lines = list(status.nested_lines(report))
    context.emit(report, lambda: "\n".join(lines))


def _emit_test(context: Context, result: "RemoteTest") -> None:
    context.emit(result.as_json(), lambda: "\n".join(_test_lines(result)))


def _test_lines(result: "RemoteTest") -> Iterator[str]:
    yield f"{result.server} ({result.kind}, answers in {result.milliseconds:.0f} ms)"
    if result.created:
        yield "the folder did not exist and was created"
    for explanation in result.words:
        yield f"  {explanation}"
    if result.traits.two_way:
        yield "safe to sync both ways"
    else:
        yield "not safe to sync both ways: devices could overwrite each other's edits"
