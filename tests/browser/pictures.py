"""Takes the pictures of README and of the guide: `make pictures`."""

import tempfile
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.browser import vaults
from tests.browser.conftest import ARGUMENTS, CHROMIUM, open_link
from tests.browser.web_process import WebProcess
from tests.conftest import PROJECT
from tests.scenarios.outside import Outside

FOLDER = PROJECT / "docs" / "pictures"
DESK = ViewportSize(width=1120, height=700)
PHONE = ViewportSize(width=390, height=844)
PICTURES = (
    ("home", "/", DESK),
    ("memory", "/about?name=mira", DESK),
    ("review", "/inbox", DESK),
    ("phone", "/", PHONE),
)
"""Name of the file → view and size"""


def main() -> None:
    """Builds the lively vault, and writes a picture of each view."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        outside = vaults.lively(Path(folder))
        # The page shows the name of the folder.
        vault = outside.vault.rename(outside.vault.with_name("gull-rock"))
        named = Outside(vault, outside.home)
        named.quick = True
        with named.daemon():
            process = WebProcess(named)
            try:
                _take_all(process.start())
            finally:
                process.end()


def _take_all(link: str) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        tab = browser.new_context(color_scheme="light").new_page()
        open_link(tab, link)
        base = tab.url.rstrip("/")
        for name, path, size in PICTURES:
            _take(tab, base + path, size, FOLDER / f"{name}.png")
        browser.close()


def _take(tab: Page, url: str, size: ViewportSize, file: Path) -> None:
    tab.set_viewport_size(size)
    tab.goto(url)
    tab.wait_for_selector("body[data-script]")
    tab.screenshot(path=file)
    print(f"{file.relative_to(PROJECT)}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
