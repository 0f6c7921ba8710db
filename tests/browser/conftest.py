"""A real Chromium, and the page of a copy of the sample vault, served by a real process."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.browser.acts import PATIENCE_MS
from tests.browser.web_process import WebProcess
from tests.conftest import PROJECT
from tests.scenarios.outside import Outside, Running, at

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FIREFOX = os.environ.get("FIREFOX", "")
"""The path of a Firefox, in which the flows are run instead"""
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""The browser asks no host but the page's"""
SCREENSHOTS = PROJECT / "build" / "screenshots"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def playwright() -> "Iterator[Playwright]":
    # Fault: in CI, a missing browser would let every flow pass unseen.
    if CHROMIUM is None:
        message = "Chromium was not found: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def chromium(playwright: "Playwright") -> "Iterator[Browser]":
    if FIREFOX:
        # By WebDriver BiDi, which the Firefox of Debian speaks.
        browser = playwright.firefox.launch(executable_path=FIREFOX, channel="moz-firefox")
    else:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
    yield browser
    browser.close()


@pytest.fixture
def house(tmp_path: Path) -> Outside:
    """A copy of the sample vault."""
    outside = at(tmp_path)
    shutil.copytree(PROJECT / "sample_vault", outside.vault, dirs_exist_ok=True)
    outside.ok("index")
    return outside


@pytest.fixture
def web(house: Outside) -> Iterator[Callable[..., WebProcess]]:
    """Starts the page with the options that the test wants."""
    processes: list[WebProcess] = []

    def start(*options: str) -> WebProcess:
        process = WebProcess(house, options)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.end()


@pytest.fixture
def context(chromium: "Browser") -> "Iterator[BrowserContext]":
    """A browser that knows nothing of earlier tests."""
    with watched(chromium.new_context(reduced_motion="reduce")) as context:
        yield context


@pytest.fixture
def tab(context: "BrowserContext") -> "Page":
    """One tab."""
    return context.new_page()


@contextmanager
def watched(context: "BrowserContext") -> "Iterator[BrowserContext]":
    """Closes a browser at the end. It showed no error, no dialog, and asked no other host."""
    context.set_default_timeout(PATIENCE_MS)
    messages: list[str] = []
    context.on("weberror", lambda error: messages.append(str(error.error)))
    context.on("console", lambda message: _keep_error(messages, message))
    context.on("dialog", lambda dialog: messages.append(f"dialog: {dialog.message}"))
    context.on("request", lambda request: _keep_stranger(messages, request.url))
    # What the policy of the page refuses becomes an error of the console.
    context.add_init_script(
        "addEventListener('securitypolicyviolation',"
        " (event) => console.error('policy: ' + event.blockedURI))"
    )
    yield context
    context.close()
    assert not messages


def _keep_error(messages: list[str], message: Any) -> None:
    # A status of 401 or 409 is an answer that tests ask for, and so is a stopped server.
    if message.type == "error" and "Failed to load resource" not in message.text:
        messages.append(message.text)


def _keep_stranger(messages: list[str], url: str) -> None:
    if not (urlsplit(url).hostname or "").endswith(".localhost"):
        messages.append(f"request to {url}")


@pytest.fixture
def signed_in(web: Callable[..., WebProcess], tab: "Page") -> Callable[..., WebProcess]:
    """Starts the page with these options, and signs the tab in."""

    def start(*options: str) -> WebProcess:
        process = web(*options)
        open_link(tab, process.start())
        return process

    return start


@pytest.fixture
def daemon(house: Outside) -> Iterator[Running]:
    """The daemon of the vault."""
    with house.daemon() as running:
        yield running


def open_link(tab: "Page", link: str) -> None:
    """Opens a link, and presses its button."""
    tab.goto(link)
    tab.get_by_role("button", name="Open").click()
    tab.wait_for_load_state()
