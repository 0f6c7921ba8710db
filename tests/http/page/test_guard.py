"""The guard as a table: each action of the page, and each way in which a request may not be one."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.http.page.served_page import HOST, Browser, ServedPage
from vault_memory.http.page.forms import LARGEST_TEXT
from vault_memory.http.page.page_routes import ROUTES, PageRoute

REFUSALS = {401, 403, 404, 405, 413, 415, 421}
ACTIONS = [route for route in ROUTES if route.method == "POST"]
NOTE = "Users/mira/lantern/config/USER.md"

Attack = Callable[[ServedPage, Browser, str], httpx.Response]


def _send(
    browser: Browser,
    path: str,
    *,
    method: str = "POST",
    csrf: str | None = None,
    drop: str = "",
    **headers: str,
) -> httpx.Response:
    """Sends a form that would pass, but for what the caller changes."""
    sent = {"origin": browser.origin, "sec-fetch-site": "same-origin"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent.pop(drop, None)
    token = browser.csrf if csrf is None else csrf
    body = {"csrf": token} if method in ("POST", "PUT", "PATCH") else None
    return browser.client.request(method, path, data=body, headers=sent)


def _json(page: ServedPage, browser: Browser, path: str) -> httpx.Response:
    headers = {"origin": browser.origin}
    return browser.client.post(path, json={"csrf": browser.csrf}, headers=headers)


def _multipart(page: ServedPage, browser: Browser, path: str) -> httpx.Response:
    headers = {"origin": browser.origin}
    fields = {"csrf": (None, browser.csrf)}
    return browser.client.post(path, files=fields, headers=headers)


def _as_stranger(page: ServedPage, browser: Browser, path: str) -> httpx.Response:
    stranger = page.stranger(origin=page.origin)
    return stranger.post(path, data={"csrf": browser.csrf})


def _with_spent_link(page: ServedPage, browser: Browser, path: str) -> httpx.Response:
    link = page.link()
    stranger = page.stranger(origin=page.origin)
    assert stranger.post(link).status_code == 303
    stranger.cookies.clear()
    key = link.rpartition("/")[2]
    stranger.headers["cookie"] = f"vm_{page.port}={key}"
    return stranger.post(path, data={"csrf": browser.csrf})


def _from_other_session(
    page: ServedPage,
    browser: Browser,
    path: str,
) -> httpx.Response:
    """The cookie of one session, the token of another."""
    other = page.browser("tomas")
    other.get("/search")
    return _send(browser, path, csrf=other.csrf)


def _read_only(page: ServedPage, browser: Browser, path: str) -> httpx.Response:
    reader = page.browser(may_write=False)
    reader.get("/search")
    # A view without forms shows no token: this one is computed from the cookie.
    token = reader.client.headers["cookie"].partition("=")[2]
    session = page.sessions.find(token)
    assert session is not None
    answer = _send(reader, path, csrf=session.csrf)
    assert 'data-code="read_only"' in answer.text
    return answer


ATTACKS: dict[str, tuple[Attack, int]] = {
    "no cookie": (_as_stranger, 401),
    "a spent link as a cookie": (_with_spent_link, 401),
    "no token": (lambda page, browser, path: _send(browser, path, csrf=""), 403),
    "a wrong token": (
        lambda page, browser, path: _send(browser, path, csrf="é" * 64),
        403,
    ),
    "the token of another session": (_from_other_session, 403),
    "no origin": (
        lambda page, browser, path: _send(browser, path, drop="origin"),
        403,
    ),
    "the origin null": (
        lambda page, browser, path: _send(browser, path, origin="null"),
        403,
    ),
    "the origin of another port": (
        lambda page, browser, path: _send(browser, path, origin=f"http://{HOST}:1"),
        403,
    ),
    "the origin of another site": (
        lambda page, browser, path: _send(
            browser, path, origin="http://evil.example.org"
        ),
        403,
    ),
    "the origin of another scheme": (
        lambda page, browser, path: _send(
            browser, path, origin=browser.origin.replace("http", "https")
        ),
        403,
    ),
    "a page of the same site": (
        lambda page, browser, path: _send(browser, path, sec_fetch_site="same-site"),
        403,
    ),
    "a page of another site": (
        lambda page, browser, path: _send(browser, path, sec_fetch_site="cross-site"),
        403,
    ),
    "another host": (
        lambda page, browser, path: _send(browser, path, host="evil.example.org"),
        421,
    ),
    "PUT": (lambda page, browser, path: _send(browser, path, method="PUT"), 405),
    "DELETE": (lambda page, browser, path: _send(browser, path, method="DELETE"), 405),
    "a body of JSON": (_json, 415),
    "a form of several parts": (_multipart, 415),
    "a read-only session": (_read_only, 403),
    "a body without an end": (
        lambda page, browser, path: browser.client.post(
            path,
            content=b"x=" + b"y" * (LARGEST_TEXT + 1),
            headers={
                "origin": browser.origin,
                "content-type": "application/x-www-form-urlencoded",
            },
        ),
        413,
    ),
}
"""Attack → how it is sent, and its status"""


def _files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def _path_of(route: PageRoute) -> str:
    return route.path.replace("{note}", NOTE).replace("{id}", "0").replace("{", "")


@pytest.fixture(scope="module")
def browser(page: ServedPage) -> Browser:
    browser = page.browser()
    browser.get("/search")
    token = browser.client.headers["cookie"].partition("=")[2]
    session = page.sessions.find(token)
    assert session is not None
    browser.csrf = session.csrf
    return browser


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_an_action_is_refused_and_changes_nothing(
    page: ServedPage,
    browser: Browser,
    route: PageRoute,
    attack: str,
) -> None:
    send, status = ATTACKS[attack]
    before = _files(page.memory.root)

    answer = send(page, browser, _path_of(route))

    assert answer.status_code == status
    assert answer.status_code in REFUSALS
    assert 'role="alert"' in answer.text
    assert _files(page.memory.root) == before


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_looking_changes_nothing(
    page: ServedPage,
    browser: Browser,
    route: PageRoute,
    method: str,
) -> None:
    before = _files(page.memory.root)

    answer = browser.client.request(method, _path_of(route))

    views = {view.path for view in ROUTES if view.method == "GET"}
    assert answer.status_code in ({200, 404} if route.path in views else {404, 405})
    assert _files(page.memory.root) == before


def test_a_proxy_with_tls_in_front_is_the_same_page(own_page: ServedPage) -> None:
    """Its browser says https, and this server is asked by http."""
    browser = own_page.stranger(origin="https://memory.example.org")

    answer = browser.post(own_page.link(), headers={"host": "memory.example.org"})

    # The name is not configured here.
    assert answer.status_code == 421
