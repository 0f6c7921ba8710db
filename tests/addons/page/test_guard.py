"""The guard as a table: each action of the page, and each way in which a request may not be one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.addons.page.served_page import HOST, Browser, ServedPage
from vault_memory.addons.page.forms import FORM_TYPE, LARGEST_TEXT
from vault_memory.addons.page.page_routes import ROUTES, PageRoute

REFUSALS = {401, 403, 404, 405, 413, 415, 421}
ACTIONS = [route for route in ROUTES if route.method == "POST"]
NOTE = "Users/mira/lantern/config/USER.md"


@dataclass
class Visitors:
    """Those who send forms: a person who may, and others who may not."""

    person: Browser
    other: Browser
    """another session"""
    reader: Browser
    """a session that may only look"""
    stranger: httpx.Client
    """without a cookie"""
    late: httpx.Client
    """with the key of a spent link as its cookie"""


Attack = Callable[[Visitors, str], httpx.Response]


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


def _altered(**change: str) -> Attack:
    """The form of a person who may send it, with one change."""
    return lambda visitors, path: _send(visitors.person, path, **change)


def _json(visitors: Visitors, path: str) -> httpx.Response:
    person = visitors.person
    headers = {"origin": person.origin}
    return person.client.post(path, json={"csrf": person.csrf}, headers=headers)


def _multipart(visitors: Visitors, path: str) -> httpx.Response:
    person = visitors.person
    headers = {"origin": person.origin}
    fields = {"csrf": (None, person.csrf)}
    return person.client.post(path, files=fields, headers=headers)


def _endless(visitors: Visitors, path: str) -> httpx.Response:
    person = visitors.person
    headers = {"origin": person.origin, "content-type": FORM_TYPE}
    body = b"x=" + b"y" * (LARGEST_TEXT + 1)
    return person.client.post(path, content=body, headers=headers)


def _as_stranger(visitors: Visitors, path: str) -> httpx.Response:
    return visitors.stranger.post(path, data={"csrf": visitors.person.csrf})


def _with_spent_link(visitors: Visitors, path: str) -> httpx.Response:
    return visitors.late.post(path, data={"csrf": visitors.person.csrf})


def _from_other_session(visitors: Visitors, path: str) -> httpx.Response:
    """The cookie of one session, the token of another."""
    return _send(visitors.person, path, csrf=visitors.other.csrf)


def _read_only(visitors: Visitors, path: str) -> httpx.Response:
    answer = _send(visitors.reader, path)
    assert 'data-code="read_only"' in answer.text
    return answer


def _other_scheme(visitors: Visitors, path: str) -> httpx.Response:
    person = visitors.person
    return _send(person, path, origin=person.origin.replace("http", "https"))


ATTACKS: dict[str, tuple[Attack, int]] = {
    "no cookie": (_as_stranger, 401),
    "a spent link as a cookie": (_with_spent_link, 401),
    "no token": (_altered(csrf=""), 403),
    "a wrong token": (_altered(csrf="é" * 64), 403),
    "the token of another session": (_from_other_session, 403),
    "no origin": (_altered(drop="origin"), 403),
    "the origin null": (_altered(origin="null"), 403),
    "the origin of another port": (_altered(origin=f"http://{HOST}:1"), 403),
    "the origin of another site": (_altered(origin="http://evil.example.org"), 403),
    "the origin of another scheme": (_other_scheme, 403),
    "a page of the same site": (_altered(sec_fetch_site="same-site"), 403),
    "a page of another site": (_altered(sec_fetch_site="cross-site"), 403),
    "another host": (_altered(host="evil.example.org"), 421),
    "PUT": (_altered(method="PUT"), 405),
    "DELETE": (_altered(method="DELETE"), 405),
    "a body of JSON": (_json, 415),
    "a form of several parts": (_multipart, 415),
    "a read-only session": (_read_only, 403),
    "a body without an end": (_endless, 413),
}
"""Attack → how it is sent, and its status"""


def files_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def path_of(route: PageRoute) -> str:
    return route.path.replace("{note}", NOTE).replace("{id}", "0").replace("{", "")


@pytest.fixture(scope="module")
def files(page: ServedPage) -> dict[str, bytes]:
    """Every file of the vault, before the first request."""
    return files_of(page.memory.root)


@pytest.fixture(scope="module")
def visitors(page: ServedPage) -> Visitors:
    return visitors_of(page)


def visitors_of(page: ServedPage) -> Visitors:
    """Signs the browsers in."""
    stranger = page.stranger(origin=page.origin)
    late = page.stranger(origin=page.origin)
    link = page.link()
    assert late.post(link).status_code == 303
    late.cookies.clear()
    late.headers["cookie"] = f"vm_{page.port}={link.rpartition('/')[2]}"
    reader = page.browser(may_write=False)
    return Visitors(page.browser(), page.browser("tomas"), reader, stranger, late)


@pytest.mark.sampled
@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_an_action_is_refused_and_changes_nothing(
    page: ServedPage, files: dict[str, bytes], visitors: Visitors, route: PageRoute
) -> None:
    answers = {name: attack(visitors, path_of(route)) for name, (attack, _) in ATTACKS.items()}

    statuses = {name: answer.status_code for name, answer in answers.items()}
    assert statuses == {name: status for name, (_, status) in ATTACKS.items()}
    assert REFUSALS.issuperset(statuses.values())
    assert [name for name, answer in answers.items() if 'role="alert"' not in answer.text] == []
    assert files_of(page.memory.root) == files


@pytest.mark.sampled
@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_looking_changes_nothing(
    page: ServedPage, files: dict[str, bytes], visitors: Visitors, route: PageRoute
) -> None:
    client = visitors.person.client

    answers = [client.request(method, path_of(route)) for method in ("GET", "HEAD")]

    views = {view.path for view in ROUTES if view.method == "GET"}
    allowed = {200, 404} if route.path in views else {404, 405}
    assert allowed.issuperset(answer.status_code for answer in answers)
    assert files_of(page.memory.root) == files


def test_a_proxy_with_tls_in_front_is_the_same_page(own_page: ServedPage) -> None:
    """Its browser says https, and this server is asked by http."""
    browser = own_page.stranger(origin="https://memory.example.org")

    answer = browser.post(own_page.link(), headers={"host": "memory.example.org"})

    # The name is not configured here.
    assert answer.status_code == 421
