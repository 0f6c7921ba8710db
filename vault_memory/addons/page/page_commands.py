"""`web`: the page, where people see, correct and take back in a browser what is remembered."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from vault_memory.addons.page import browser_sessions, passphrases, running, vault_page
from vault_memory.cli import listener_settings
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context, common, grouped, scope_option
from vault_memory.config.server_sections import Serve
from vault_memory.errors import NoVault, UsageError
from vault_memory.http import listen

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from vault_memory.addons.page.browser_sessions import Rights
    from vault_memory.addons.page.running import PageAddress, RunningPage
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.setup_answers import SignedOutJson, WebLinkJson

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How the page is served."""

    users: tuple[str, ...]
    read_only: bool
    host: str | None
    port: int | None
    no_browser: bool

    def rights(self) -> "Rights":
        """Return what the page may show and do."""
        return browser_sessions.Rights(self.users or None, not self.read_only)


def _end_with(ctx: click.Context, parameter: click.Parameter, reader: int | None) -> None:
    """End this process, as SIGTERM does, when the other end of this pipe is closed."""

    def wait(descriptor: int) -> None:
        os.read(descriptor, 1)
        # The daemon says that it stopped.
        ctx.obj.quiet = True
        os.kill(os.getpid(), signal.SIGTERM)

    if reader is not None:
        threading.Thread(target=wait, args=(reader,), daemon=True).start()


@click.command()
@scope_option(
    "--user",
    "users",
    multiple=True,
    help="Show only the notes that this person may see (repeatable). Default: all.",
)
@click.option("--read-only", is_flag=True, help="Show everything, and change nothing.")
@click.option("--host", metavar="ADDRESS", help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port. Default: one of its own for each vault.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--link", is_flag=True, help="Print one more link to the running page.")
@click.option("--sign-out", is_flag=True, help="End the sessions of all browsers.")
@click.option(
    "--passphrase",
    is_flag=True,
    help="Ask for a passphrase with which --user signs in where no link is at hand.",
)
@click.option("--beside", type=int, hidden=True, expose_value=False, callback=_end_with)
@common
@click.pass_obj
@grouped(WebOptions, "options")
def web(
    context: Context, options: WebOptions, link: bool, sign_out: bool, passphrase: bool
) -> None:
    """Show in a browser what is remembered: see it, correct it, take it back.

    The page runs until Ctrl-C. The printed link works once, within 5 minutes. Where no vault
    is named or around, the page asks for its folder.

    \b
    Examples:
      vault-memory web
      vault-memory web --user mira --read-only
      vault-memory web --link
    """
    need("web")
    needs_vault = any((link, sign_out, passphrase, options.users, options.read_only))
    memory = _open(context, needs_vault=needs_vault)
    if memory is None:
        _serve(context, options, None)
        return
    with memory:
        state = memory.vault.state.path
        if sign_out:
            _sign_out(context, state)
        elif passphrase:
            _set_passphrase(context, state, options.users)
        elif page := running.find_page(memory.root, state):
            if not link:
                context.say("the page runs already; this is one more link to it")
            _print_link(context, state, page, options)
        elif link:
            raise running.NoPage
        else:
            _serve(context, options, memory)


def beside_daemon(context: Context) -> "Callable[[Path], AbstractContextManager[None]]":
    """Return what serves the page of a folder beside the daemon. Raises ExtraMissing."""
    need("web")
    return partial(_serve_beside, context)


@contextmanager
def _serve_beside(context: Context, root: Path) -> Iterator[None]:
    """Within this, `web` serves the page in a process of its own."""
    # Fault: a daemon that is killed ends no other process. The system closes its end of the pipe.
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "vault_memory", "web", f"--vault={root}", f"--beside={reader}"]
    if context.config:
        command.append(f"--config={context.config}")
    if context.quiet:
        command.append("--quiet")
    # Fault: Ctrl-C would reach both processes, and the page would end before the daemon.
    with subprocess.Popen(command, pass_fds=(reader,), start_new_session=True):
        os.close(reader)
        try:
            yield
        finally:
            os.close(writer)


def _open(context: Context, *, needs_vault: bool) -> "VaultMemory | None":
    """Open the vault; None without one. Raises NoVault where the options are about a vault."""
    try:
        return context.open()
    except NoVault:
        if needs_vault:
            raise
        return None


def _sign_out(context: Context, state: "Path") -> None:
    ended = browser_sessions.BrowserSessions(state).end_all()
    answer: SignedOutJson = {"ended": ended}
    browsers = "1 browser was" if ended == 1 else f"{ended} browsers were"
    context.emit(answer, lambda: f"{browsers} signed out")


def _set_passphrase(context: Context, state: "Path", users: Sequence[str]) -> None:
    """Ask for the passphrase of a person, and keep its digest. Raises UsageError."""
    if len(users) != 1:
        raise UsageError("a passphrase is of one person", hint="name the person with `--user NAME`")
    user = users[0]
    if context.can_ask():
        passphrase: str = click.prompt(
            f"Passphrase of {user}; an empty one removes it",
            default="",
            hide_input=True,
            confirmation_prompt=True,
            show_default=False,
            err=True,
        )
    else:
        passphrase = sys.stdin.readline().rstrip("\r\n")
    passphrases.Passphrases(state).set(user, passphrase)
    answer: passphrases.PassphraseJson = {"user": user, "is_set": bool(passphrase)}
    outcome = "is set" if passphrase else "is removed"
    context.emit(answer, lambda: f"the passphrase of {user} {outcome}")


def _print_link(context: Context, state: "Path", page: "RunningPage", options: WebOptions) -> None:
    """Print one more link to the running page. Raises UsageError."""
    _check_rights(page, options.users)
    print_link(context, state, page.with_rights(options.rights()))


def _check_rights(page: "RunningPage", users: Sequence[str]) -> None:
    """Raise UsageError for people whom the running page does not show."""
    allowed = page.rights.users
    if allowed is None:
        return
    for user in users:
        if user not in allowed:
            raise UsageError(
                f"the running page does not show `{user}`",
                hint="stop it, and start it with `--user` for each person",
            )


def _serve(context: Context, options: WebOptions, memory: "VaultMemory | None") -> None:
    """Serve the page of a vault; without one, ask for its folder first."""
    root = memory.root if memory else None
    place = _address(root or Path.cwd(), options)
    host = options.host or LOOPBACK
    listening = listen.at_address(host, place.port)
    place = place._replace(port=listening.getsockname()[1])
    listener_settings.warn_if_unencrypted(context, Serve(host=host))
    with TemporaryDirectory() as waiting:
        state = memory.vault.state.path if memory else Path(waiting)
        page = vault_page.VaultPage(root, context.config, place, options.rights(), Path(waiting))
        listen.listen(
            page,
            listening,
            lambda: open_page(context, state, place.url, in_browser=not options.no_browser),
            page.stop,
        )
    context.say("stopped")


def _address(root: Path, options: WebOptions) -> "PageAddress":
    """Return the address of the page: that of the options, else the vault's own."""
    place = running.default_address(root)
    port = place.port if options.port is None else options.port
    return running.PageAddress(options.host or place.host, port)


def print_link(context: Context, state: "Path", page: "RunningPage") -> str:
    """Make a link to this page for the vault with this state, print it, and return it.

    The link has the rights of the page.
    """
    prefix = page.key_prefix(state)
    sessions = browser_sessions.BrowserSessions(state, key_prefix=prefix)
    link = f"{page.url}/open/{sessions.make_link(page.rights)}"
    answer: WebLinkJson = {"link": link}
    context.emit(answer, lambda: link)
    return link


def open_page(context: Context, state: "Path", url: str, *, in_browser: bool) -> None:
    """Print the first link to a page that was just started; on a terminal, open it."""
    context.say("Open this link within 5 minutes; it works once. Ctrl-C stops the page.")
    page = running.RunningPage(url, browser_sessions.Rights())
    link = print_link(context, state, page)
    if in_browser and context.can_ask():
        click.launch(str(running.write_opener(state, link)))
