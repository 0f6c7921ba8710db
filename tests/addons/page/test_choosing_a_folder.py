"""`vault-memory web` where there is no vault: the page asks for the folder, and makes it one."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.addons.page.served_page import Browser
from tests.addons.page.test_setup_view import in_main
from tests.addons.page.test_web_command import ask
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside, at
from vault_memory.vault.marker import read_marker


@pytest.fixture
def house(tmp_path: Path) -> Outside:
    """A home with a folder of notes, and no vault."""
    house = at(tmp_path)
    house.write(".obsidian/app.json", "{}")
    house.write("Ideas.md", "# Ideas\n\n- a boat\n")
    house.write("Journal/2026-05-01.md", "# Friday\n\n- sailed\n")
    return house


@pytest.fixture
def browser(house: Outside) -> Iterator[Browser]:
    """A browser that is signed in to the page of that home."""
    process = WebProcess(house, names_vault=False)
    link = urlsplit(process.start())
    opened = ask(link.geturl(), "POST")
    cookie = opened.headers["set-cookie"].partition(";")[0]
    with httpx.Client(
        base_url=f"http://127.0.0.1:{link.port}",
        headers={"host": link.netloc, "cookie": cookie},
        timeout=120,
    ) as client:
        browser = Browser(client, f"http://{link.netloc}", "")
        browser.get("/")
        yield browser
    assert process.stop()[0] == 0


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def states(house: Outside) -> list[str]:
    """The state folders of vaults."""
    folder = Path(house.environment["VAULT_MEMORY_STATE"])
    return [state.name for state in folder.glob("*/place.json")]


def test_a_folder_of_notes_becomes_a_vault_and_no_vault_again(
    house: Outside, browser: Browser
) -> None:
    before = bytes_of(house.vault)
    question = browser.get(f"/setup?folder={house.vault}").text
    assert "2 notes, of Obsidian" in question
    assert bytes_of(house.vault) == before

    made = browser.post("/setup/folder", {"folder": str(house.vault), "name": "ada"})
    setup = browser.get(made.headers["location"])

    assert (made.status_code, setup.status_code) == (303, 200)
    assert "This folder is the memory now" in setup.text
    marker = read_marker(house.vault)
    assert marker is not None
    assert marker.owner == "ada"
    assert "boat" in in_main(browser.get("/search?q=boat").text)
    assert house.run("web", "--link").code == 0

    undone = browser.post("/setup/undo", {})
    again = browser.get(undone.headers["location"])

    assert undone.status_code == 303
    assert "Which folder is the memory?" in again.text
    assert bytes_of(house.vault) == before
    assert states(house) == []


def test_a_vault_in_use_stays_one(house: Outside, browser: Browser) -> None:
    browser.post("/setup/folder", {"folder": str(house.vault), "name": "ada"})
    browser.get("/setup")
    house.ok("append", "Ideas.md", "Ideas", "a sail")

    refused = browser.post("/setup/undo", {})

    assert refused.status_code == 400
    assert "in use by now" in refused.text
    assert read_marker(house.vault) is not None


def test_a_new_layout_counts_at_once(house: Outside, browser: Browser) -> None:
    browser.post("/setup/folder", {"folder": str(house.vault), "name": "ada"})
    browser.get("/setup")

    browser.post("/setup/layout", {"name": "workspace"})
    text = browser.get("/setup").text

    assert "start it again" not in text
    assert "0 notes are memory, 2 are not" in text


def test_a_folder_that_is_no_good_is_refused_and_nothing_is_made(
    house: Outside, browser: Browser
) -> None:
    before = bytes_of(house.home.parent)
    file = house.vault / "Ideas.md"
    for folder in ("", "notes", "/nowhere/at/all", str(file), "/\0", "x" * 5000, f"{file}/x"):
        look = browser.get(str(httpx.URL("/setup", params={"folder": folder})))
        refused = browser.post("/setup/folder", {"folder": folder, "name": "ada"})
        assert look.status_code == 200, folder
        assert refused.status_code in (400, 503), (folder, refused.text)
    nameless = browser.post("/setup/folder", {"folder": str(house.vault), "name": "../x"})
    forged = browser.post("/setup/folder", {"folder": str(house.vault), "csrf": "x", "name": "a"})

    assert (nameless.status_code, forged.status_code) == (400, 403)
    assert bytes_of(house.home.parent) == before
    assert read_marker(house.vault) is None


def test_a_new_folder_is_made_and_taken_back(house: Outside, browser: Browser) -> None:
    folder = house.home / "Notes"
    assert "A new folder" in browser.get(f"/setup?folder={folder}").text
    assert "/Notes" in unescape(browser.get("/").text)

    browser.post("/setup/folder", {"folder": str(folder), "name": "ada"})
    assert browser.get("/setup").status_code == 200
    assert [file.name for file in folder.iterdir()] == [".vault-memory"]

    browser.post("/setup/undo", {})
    browser.get("/setup")

    assert not folder.exists()
