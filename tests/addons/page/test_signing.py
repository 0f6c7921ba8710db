"""Who may look: links that work once, cookies, and what a stranger gets."""

import json
import os
import stat
from pathlib import Path

import pytest

from tests.addons.page.served_page import ServedPage
from vault_memory.addons.page import browser_sessions
from vault_memory.addons.page.browser_sessions import BrowserSessions, Rights


def test_a_link_opens_the_page_once(page: ServedPage) -> None:
    link = page.link()
    client = page.stranger(origin=page.origin)

    # A program that previews links fetches them, and uses nothing up.
    assert client.get(link).status_code == 200
    assert client.get(link).status_code == 200
    first = client.post(link)
    second = client.post(link)

    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert second.status_code == 401
    assert client.get(link).status_code == 401


def test_the_cookie_stays_away_from_scripts_and_other_sites(page: ServedPage) -> None:
    answer = page.stranger(origin=page.origin).post(page.link())

    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"vm_{page.port}=")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "Secure" not in cookie


def test_a_stranger_gets_one_sentence_and_the_next_step(page: ServedPage) -> None:
    answer = page.stranger().get("/search?q=lamp")

    assert answer.status_code == 401
    assert "vault-memory web --link" in answer.text
    assert "lamp changer" not in answer.text


def test_the_state_folder_has_digests_only(page: ServedPage) -> None:
    link = page.link()
    browser = page.browser()

    file = page.memory.vault.state.path / browser_sessions.FILE
    text = file.read_text("utf-8")
    assert link.removeprefix("/open/") not in text
    assert browser.client.headers["cookie"].partition("=")[2] not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_is_too_old_after_five_minutes(tmp_path: Path) -> None:
    now = 1_000_000.0
    sessions = BrowserSessions(tmp_path, lambda: now)
    key = sessions.make_link(Rights())

    now += browser_sessions.LINK_SECONDS + 1

    assert sessions.rights_of_link(key) is None
    assert sessions.spend(key) is None


def test_a_session_ends_when_it_is_idle_for_thirty_days(tmp_path: Path) -> None:
    now = 1_000_000.0
    sessions = BrowserSessions(tmp_path, lambda: now)
    token = sessions.spend(sessions.make_link(Rights(("mira",), may_write=False)))
    assert token

    # Each use starts the days again.
    for _ in range(3):
        now += browser_sessions.IDLE_SECONDS - 1
        session = sessions.find(token)
        assert session is not None
        assert session.rights == Rights(("mira",), may_write=False)
    now += browser_sessions.IDLE_SECONDS + 1

    assert sessions.find(token) is None


def test_sessions_live_on_after_a_restart_until_all_are_signed_out(tmp_path: Path) -> None:
    first = BrowserSessions(tmp_path)
    token = first.spend(first.make_link(Rights()))
    assert token

    second = BrowserSessions(tmp_path)
    assert second.find(token)
    assert second.end_all() == 1

    assert first.find(token) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"sessions": 3}', '{"links": [{}]}'])
def test_a_damaged_file_signs_everybody_out_and_breaks_nothing(tmp_path: Path, damage: str) -> None:
    sessions = BrowserSessions(tmp_path)
    token = sessions.spend(sessions.make_link(Rights()))
    assert token
    file = tmp_path / browser_sessions.FILE
    file.write_text(damage, "utf-8")
    os.utime(file, (1, 1))

    assert sessions.find(token) is None

    assert sessions.find(sessions.spend(sessions.make_link(Rights())) or "")
    assert json.loads(file.read_text("utf-8"))["sessions"]


def test_wrong_links_are_limited(own_page: ServedPage) -> None:
    client = own_page.stranger(origin=own_page.origin)

    answers = [client.post("/open/wrong").status_code for _ in range(12)]

    assert answers == [401] * 10 + [429] * 2


def test_an_origin_that_is_no_url_is_refused(page: ServedPage) -> None:
    answer = page.stranger(origin="http://[").post(page.link())

    assert answer.status_code == 403
    assert 'role="alert"' in answer.text


def test_a_bug_is_a_view_with_the_headers_of_the_page(
    own_page: ServedPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("a secret of the vault")

    browser = own_page.browser()
    monkeypatch.setattr("vault_memory.addons.page.page_app.frame", fail)

    answer = browser.client.get("/search")

    assert answer.status_code == 500
    assert "which is a bug" in answer.text
    assert "a secret" not in answer.text
    assert "default-src" in answer.headers["content-security-policy"]


def test_a_state_folder_that_cannot_be_written_signs_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000_000.0
    sessions = BrowserSessions(tmp_path, lambda: now)
    token = sessions.spend(sessions.make_link(Rights()))
    assert token
    now += browser_sessions.TOUCH_SECONDS + 1

    def full_disk(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vault_memory.config.state_file.write", full_disk)

    assert sessions.find(token)
