"""Opening the page: the link, the link a second time, and what other programs can see of it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.conftest import open_link
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Web = Callable[..., WebProcess]


def test_the_first_link_shows_today(web: Web, tab: "Page") -> None:
    open_link(tab, web().start())

    assert tab.get_by_role("heading", level=1).inner_text() == "67 notes are memory"
    assert tab.url.endswith(".localhost:" + tab.url.rsplit(":", 1)[1])
    assert "/open/" not in tab.url


def test_the_link_works_once(web: Web, tab: "Page", chromium: "Browser") -> None:
    link = web().start()
    open_link(tab, link)
    stranger = chromium.new_context().new_page()

    answer = stranger.goto(link)

    assert answer is not None
    assert answer.status == 401
    assert "vault-memory web --link" in stranger.get_by_role("alert").inner_text()
    stranger.context.close()


def test_signing_out_ends_the_session_of_an_open_tab(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    signed_in()
    assert tab.goto(tab.url).status == 200  # type: ignore[union-attr]

    assert house.run("web", "--sign-out").out.strip() == "1 browser was signed out"

    assert tab.goto(tab.url).status == 401  # type: ignore[union-attr]


def test_no_process_has_the_key_in_its_arguments(web: Web, tab: "Page") -> None:
    process = web()
    seen: list[bytes] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.005):
            seen.extend(_arguments_of_all_processes())

    thread = threading.Thread(target=watch)
    thread.start()
    link = process.start()
    key = link.rpartition("/")[2].encode()
    open_link(tab, link)
    second = process.link().rpartition("/")[2].encode()
    stop.set()
    thread.join()

    assert seen
    assert not any(key in line or second in line for line in seen)
    assert not any(key.decode() in line for line in process.errors)
    assert key.decode() not in tab.url


def _arguments_of_all_processes() -> list[bytes]:
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes())
        except OSError:
            # The process has ended.
            continue
    return lines
