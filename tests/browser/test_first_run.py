"""From `vault-memory web` without a vault to a memory: the folder, whose notes, the layout."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.acts import expect, heading
from tests.browser.test_accessibility import PHONE, problems_here
from tests.browser.vaults import obsidian
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def folder(tmp_path: Path) -> Outside:
    """Notes of Obsidian that no program of ours has read, named in the settings of Obsidian."""
    house = obsidian(tmp_path)
    (house.vault / ".vault-memory").unlink()
    shutil.rmtree(house.home / "state")
    settings = house.home / ".config" / "obsidian" / "obsidian.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'{{"vaults": {{"1": {{"path": "{house.vault}"}}}}}}', "utf-8")
    return house


@pytest.fixture
def link(folder: Outside, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    process = WebProcess(folder, names_vault=False)
    yield process.start()
    process.end()


def test_a_vault_of_obsidian_is_chosen_named_laid_out_and_undone(
    folder: Outside, link: str, tab: "Page"
) -> None:
    tab.set_viewport_size(PHONE)
    tab.goto(link)
    tab.get_by_role("button", name="Open").click()

    expect(tab.get_by_role("textbox", name="Folder")).to_have_value(str(folder.vault))
    expect(tab.get_by_role("heading", name="60 notes, of Obsidian")).to_be_visible()
    assert not problems_here(tab, "/setup")
    tab.get_by_label("Whose notes").fill("ada")
    tab.get_by_role("button", name="Use this folder").click()

    expect(tab.get_by_text("60 notes are memory")).to_be_visible()
    expect(tab.get_by_label("Notes of")).to_have_value("ada")
    expect(tab.get_by_text("This folder is the memory now")).to_be_visible()
    tab.get_by_role("button", name="Use: the layout plain").click()
    expect(tab.get_by_role("button", name="Use: the layout obsidian")).to_be_visible()
    tab.get_by_role("button", name="Undo: this folder").click()

    expect(tab.get_by_role("heading", name="60 notes, of Obsidian")).to_be_visible()
    assert heading(tab) == "Which folder is the memory?"
    assert not (folder.vault / ".vault-memory").exists()
