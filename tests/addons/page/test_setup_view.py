"""Set up on the page: it writes what the commands write, and only for a session that may."""

import re
from html import unescape
from pathlib import Path

import pytest

from tests.addons.page.served_page import ServedPage, serving_page
from tests.addons.page.test_same_as_cli import Copy
from vault_memory.addons.page.browser_sessions import Rights
from vault_memory.addons.page.shared_answers import MachineSight
from vault_memory.vault.marker import read_marker

ROW = re.compile(r"<li class=\"row\">\s*<p><strong>(\w+)</strong>: (.*?)</li>", re.DOTALL)


def config_of(copy: Copy) -> str:
    file = copy.outside.state / "vault-memory.toml"
    return file.read_text("utf-8") if file.exists() else ""


def owner_of(copy: Copy) -> str:
    marker = read_marker(copy.outside.vault)
    return marker.owner if marker else ""


def in_main(text: str) -> str:
    return text.partition("<main")[2].partition("</main>")[0]


def test_each_layout_shows_what_it_claims_and_whose(
    own_page: ServedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = own_page.browser().get("/setup").text
    rows = dict(ROW.findall(text))

    assert set(rows) == {"Shared", "Workspace", "Obsidian", "Logseq", "Plain"}
    assert "· Mira " in rows["Shared"]
    assert "· Tomas " in rows["Shared"]
    assert "· Main " in rows["Plain"]
    assert 'aria-label="Use: the layout obsidian, ' in rows["Obsidian"]
    assert "in use" in rows["Shared"]
    assert "vault-memory install HOST --user NAME" in text


def test_the_programs_on_this_machine_are_named_with_their_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / ".codex").mkdir()
    (tmp_path / "config" / "zed").mkdir(parents=True)
    copy = Copy.at(tmp_path / "copy")
    machine = MachineSight(folder="/home/mira/my notes")
    with copy.open() as memory:
        with serving_page(memory, machine=machine) as page:
            text = page.browser().get("/setup").text
        with serving_page(memory, machine=MachineSight(hosts=False)) as page:
            elsewhere = page.browser().get("/setup").text

    assert unescape(text).count("--vault '/home/mira/my notes' install codex --user NAME") == 3
    assert "install zed" in text
    assert "install cursor" not in text
    assert "vault-memory install" not in elsewhere


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("path", "fields", "command"),
    [
        ("/setup/layout", {"name": "plain"}, ("layout", "plain")),
        ("/setup/layout", {"name": "shared"}, ("layout", "shared")),
        ("/setup/meaning", {"state": "off"}, ("config", "set", "embedding.kind", "off")),
        ("/setup/meaning", {"state": "on"}, ("config", "set", "embedding.kind", "auto")),
        ("/setup/owner", {"name": "mira"}, ("init", "--user", "mira")),
    ],
)
def test_a_button_writes_what_its_command_writes(
    tmp_path: Path, path: str, fields: dict[str, str], command: tuple[str, ...]
) -> None:
    by_hand = Copy.at(tmp_path / "by-hand")
    by_page = Copy.at(tmp_path / "by-page")
    with by_hand.open():
        notes = by_hand.notes()

    done = by_hand.outside.run(*command)
    with by_page.open() as memory, serving_page(memory) as page:
        browser = page.browser()
        answer = browser.post(path, fields)
        view = browser.get("/setup").text

    assert done.code == 0, done
    assert answer.headers["location"] == "/setup"
    assert config_of(by_hand) or owner_of(by_hand) == "mira"
    assert owner_of(by_page) == owner_of(by_hand)
    assert config_of(by_page) == config_of(by_hand)
    assert by_page.notes() == by_hand.notes() == notes
    assert str(tmp_path) not in view


def test_a_new_layout_says_that_the_page_must_start_again(own_page: ServedPage) -> None:
    browser = own_page.browser()
    assert "start it again" not in browser.get("/setup").text

    browser.post("/setup/layout", {"name": "plain"})

    text = browser.get("/setup").text
    assert "start it again" in text
    assert "in use" in dict(ROW.findall(text))["Plain"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/setup/layout", {"name": "../../etc"}),
        ("/setup/layout", {"name": ""}),
        ("/setup/meaning", {"state": "api"}),
        ("/setup/owner", {"name": "../tomas"}),
    ],
)
def test_a_forged_choice_writes_nothing(tmp_path: Path, path: str, fields: dict[str, str]) -> None:
    copy = Copy.at(tmp_path / "copy")
    with copy.open() as memory, serving_page(memory) as page:
        answer = page.browser().post(path, fields)

    assert answer.status_code == 400
    assert not config_of(copy)


def test_a_layout_that_is_set_is_shown_as_in_use(tmp_path: Path) -> None:
    copy = Copy.at(tmp_path / "copy")
    assert copy.outside.run("layout", "shared").code == 0

    with copy.open() as memory, serving_page(memory) as page:
        text = page.browser().get("/setup").text

    assert "in use" in in_main(text)


def test_all_browsers_can_be_signed_out(own_page: ServedPage) -> None:
    browser, other = own_page.browser(), own_page.browser()
    assert "2 browsers are signed in" in browser.get("/setup").text

    answer = browser.post("/setup/sign-out", {})

    assert answer.status_code == 303
    assert [one.get("/setup").status_code for one in (browser, other)] == [401, 401]


@pytest.mark.sampled
@pytest.mark.parametrize("may_write", [True, False])
def test_a_session_of_some_people_sees_no_setup(own_page: ServedPage, may_write: bool) -> None:
    browser = own_page.browser("mira", may_write=may_write)

    absent = browser.get("/nothing-here")
    view = browser.get("/setup")
    button = browser.post("/setup/layout", {"name": "plain"})

    assert (view.status_code, view.text) == (404, absent.text)
    assert button.status_code == (404 if may_write else 403)
    assert 'href="/setup"' not in browser.get("/search").text


def test_a_session_that_only_reads_sees_the_setup_without_a_form(page: ServedPage) -> None:
    browser = page.browser(may_write=False)

    view = browser.get("/setup")
    button = browser.post("/setup/layout", {"name": "plain"})

    assert view.status_code == 200
    assert "· Mira " in view.text
    assert "<form" not in in_main(view.text)
    assert button.status_code == 403


def test_a_read_only_page_takes_no_form_from_a_session_of_before(tmp_path: Path) -> None:
    copy = Copy.at(tmp_path / "copy")
    with copy.open() as memory, serving_page(memory, Rights(may_write=False)) as page:
        browser = page.browser(may_write=True)
        answer = browser.post("/setup/layout", {"name": "plain"})

    assert answer.status_code == 403
    assert 'data-code="read_only"' in answer.text
    assert not config_of(copy)


def test_a_page_for_one_person_has_no_setup(tmp_path: Path) -> None:
    copy = Copy.at(tmp_path / "copy")
    with copy.open() as memory, serving_page(memory, Rights(("mira",))) as page:
        assert page.browser().get("/setup").status_code == 404


def test_a_new_folder_of_notes_gets_the_layout_that_fits(tmp_path: Path) -> None:
    copy = Copy.at(tmp_path / "copy")
    for file in sorted(copy.outside.vault.rglob("*.md")):
        file.unlink()
    (copy.outside.vault / "Ideas.md").write_text("# Ideas\n\n- a boat\n", "utf-8")

    with copy.open() as memory, serving_page(memory) as page:
        browser = page.browser()
        answer = browser.post("/setup/layout", {"name": "obsidian"})
        written = browser.get(answer.headers["location"])

    # The page works with the earlier layout until it is started again.
    assert written.status_code == 200
    assert "start it again" in written.text
