"""Links to the page, printed and opened in a browser."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.contract.setup_answers import WebLinkJson
    from vault_memory.http.page import browser_sessions, running
    from vault_memory.http.page.running import RunningPage
else:
    browser_sessions = lazy_module("vault_memory.http.page.browser_sessions")
    running = lazy_module("vault_memory.http.page.running")


def print_link(
    context: Context,
    state: "Path",
    page: "RunningPage",
) -> str:
    """Make a link to this page for the vault with this state, print it, and return it.

    The link has the rights of the page.
    """
    prefix = page.key_prefix(state)
    sessions = browser_sessions.BrowserSessions(state, key_prefix=prefix)
    link = f"{page.url}/open/{sessions.make_link(page.rights)}"
    answer: WebLinkJson = {"link": link}
    context.emit(answer, lambda: link)
    return link


def open_page(
    context: Context,
    state: "Path",
    url: str,
    *,
    in_browser: bool,
) -> None:
    """Print the first link to a page that was just started; on a terminal, open it."""
    context.say(
        "Open this link within 5 minutes; it works once. Ctrl-C stops the page."
    )
    page = running.RunningPage(url, browser_sessions.Rights())
    link = print_link(context, state, page)
    if in_browser and context.can_ask():
        click.launch(str(running.write_opener(state, link)))
