"""The pages of three vaults behind one address: a browser reaches its own, and learns of no other."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.addons.page.served_page import ServedPage
from tests.addons.page.test_events import Tab
from tests.addons.page.test_guard import ACTIONS, ATTACKS, files_of, path_of, visitors_of
from tests.http.many_vaults import IDS, NAMES, NOTE, WORDS, Host, Start, page_of, starter
from tests.scenarios.outside import until
from tests.service.upkeep_here import upkeep_here
from vault_memory.addons.page.browser_sessions import BrowserSessions, key_prefix
from vault_memory.errors import VaultUnreachable

VIEWS = ("/", "/search?q=ferry", f"/note/{NOTE}", "/notes", "/people")
NO_ID = "d4" * 16
"""The id of no vault"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """For tests that only read."""
    with ExitStack() as stack:
        yield starter(tmp_path_factory.mktemp("host"), stack)()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """For tests that write, or close pages."""
    with ExitStack() as stack:
        yield starter(tmp_path, stack)


def with_cookie(page: ServedPage, token: str) -> httpx.Client:
    """A browser that sends this token."""
    return page.stranger(cookie=f"vm_{page.port}={token}", origin=page.origin)


def token_of(page: ServedPage) -> str:
    """The token of a browser that is signed in."""
    return str(page.browser().client.headers["cookie"]).partition("=")[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_browser_sees_its_own_vault(host: Host, name: str) -> None:
    browser = page_of(host, name).browser()

    texts = [browser.get(path).text for path in VIEWS]

    assert WORDS[name] in "".join(texts[1:3])
    strange = {word for vault, word in WORDS.items() if vault != name}
    for text in texts:
        assert [word for word in strange if word in text] == []
        assert "data-code" not in text


def test_what_a_person_writes_is_in_no_other_vault(start: Start) -> None:
    host = start()
    north, south = page_of(host, "north"), page_of(host, "south")
    before = files_of(south.memory.root)
    fields = {
        "note": NOTE,
        "heading": north.memory.read(NOTE).sections[0],
        "line": "The puffin sleeps",
        "expected": north.memory.read(NOTE).revision,
    }

    answer = north.browser().post("/note/append", fields)

    assert answer.status_code == 303, answer.text
    assert "puffin" in (north.memory.root / NOTE).read_text()
    assert files_of(south.memory.root) == before


def test_a_link_names_no_vault_and_works_once(host: Host) -> None:
    page = page_of(host, "north")
    link = page.link()
    client = page.stranger(origin=page.origin)

    assert not any(name in link for name in NAMES)
    assert client.get(link).status_code == 200
    answer = client.post(link)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"vm_{page.port}={IDS['north']}.")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert client.post(link).status_code == 401


def test_the_link_and_the_cookie_name_the_vault_and_the_person(start: Start) -> None:
    page = page_of(start(), "north")
    client = page.stranger(origin=page.origin)
    link = page.link("mira")

    shown = client.get(link)
    answer = client.post(link)

    assert "<strong>north</strong>" in shown.text
    assert "<strong>mira</strong>" in shown.text
    cookie = answer.headers["set-cookie"].partition("=")[2]
    assert cookie.startswith(f"{IDS['north']}.mira.")


SIGNED_IN = {
    "to another vault": ("south", "mira"),
    "as another person": ("north", "tomas"),
    "as everybody": ("north", None),
}


@pytest.mark.sampled
@pytest.mark.parametrize(("vault", "person"), SIGNED_IN.values(), ids=SIGNED_IN)
def test_a_link_of_somebody_else_swaps_no_session_silently(
    start: Start, vault: str, person: str | None
) -> None:
    host = start()
    page = page_of(host, "north")
    earlier = page_of(host, vault)
    people = [person] if person else []
    token = str(earlier.browser(*people).client.headers["cookie"]).partition("=")[2]
    client = with_cookie(page, token)
    link = page.link("mira")

    shown = client.get(link)
    refused = client.post(link)

    assert "signed in to another vault, or as another person" in shown.text
    assert refused.status_code == 409
    assert "set-cookie" not in refused.headers
    assert "<strong>north</strong>" in refused.text
    # The link is not spent: the person may decide to swap.
    swapped = client.post(link, data={"swap": "yes"})
    assert swapped.status_code == 303
    assert f"{IDS['north']}.mira." in swapped.headers["set-cookie"]


def test_a_new_link_of_the_same_person_opens_at_once(start: Start) -> None:
    page = page_of(start(), "north")
    token = str(page.browser("mira").client.headers["cookie"]).partition("=")[2]

    assert with_cookie(page, token).post(page.link("mira")).status_code == 303


@pytest.fixture(scope="module")
def before(host: Host) -> dict[str, dict[str, bytes]]:
    """Every file of each vault."""
    return {name: files_of(host.vaults.folders[IDS[name]]) for name in NAMES}


@pytest.mark.sampled
@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_no_attack_on_an_action_changes_any_vault(
    host: Host, before: dict[str, dict[str, bytes]], route: object
) -> None:
    page = page_of(host, "north")
    visitors = visitors_of(page)
    south = page_of(host, "south").browser()
    path = path_of(route)  # type: ignore[arg-type]

    answers = {name: attack(visitors, path) for name, (attack, _) in ATTACKS.items()}
    # The session of one vault, and the form of another.
    answers["a form of another vault"] = visitors.person.post(path, {"csrf": south.csrf})
    answers["a cookie of another vault"] = with_cookie(page, _moved(token_of(page), "south")).post(
        path, data={"csrf": visitors.person.csrf}
    )

    expected = {name: status for name, (_, status) in ATTACKS.items()}
    expected |= {"a form of another vault": 403, "a cookie of another vault": 401}
    assert {name: answer.status_code for name, answer in answers.items()} == expected
    alerts = [name for name in answers if 'role="alert"' not in answers[name].text]
    assert alerts == []
    assert before == {name: files_of(host.vaults.folders[IDS[name]]) for name in NAMES}


def _moved(key: str, name: str) -> str:
    """A key or token that names another vault."""
    return key_prefix(IDS[name]) + key.partition(".")[2]


@pytest.mark.sampled
def test_no_cookie_opens_another_vault(start: Start) -> None:
    host = start()
    page = page_of(host, "north")
    token = token_of(page)
    secret = token.partition(".")[2]
    link = page.link().removeprefix("/open/")
    host.vaults.openings.clear()

    wrong = (
        _moved(token, "south"),
        key_prefix(NO_ID) + secret,
        secret,
        f".{secret}",
        f"{IDS['south']}.{token}",
        f"{IDS['north']}.{token}",
        f"../{IDS['north']}.{secret}",
        f"{IDS['north']}/.{secret}",
        f"{IDS['north'].upper()}.{secret}",
        f"{IDS['north']}.",
        link,
        _moved(link, "south"),
    )
    answers = [with_cookie(page, cookie).get("/search?q=ferry") for cookie in wrong]

    assert {answer.status_code for answer in answers} == {401}
    # A stranger without a cookie, a wrong cookie and an unknown vault look the same.
    answers.append(page.stranger().get("/search?q=ferry"))
    assert len({answer.content for answer in answers}) == 1
    assert len({_headers(answer) for answer in answers}) == 1
    assert host.vaults.openings == {}


def _headers(answer: httpx.Response) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in answer.headers.multi_items() if pair[0] != "date")


def test_no_link_opens_another_vault(start: Start) -> None:
    host = start()
    page = page_of(host, "north")
    link = page.link().removeprefix("/open/")
    secret = link.partition(".")[2]
    client = page.stranger(origin=page.origin)

    wrong = (
        _moved(link, "south"),
        key_prefix(NO_ID) + secret,
        secret,
        f"{IDS['north']}.{link}",
        token_of(page),
    )
    host.vaults.openings.clear()
    answers = [client.post(f"/open/{key}") for key in wrong]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert host.vaults.openings == {}
    # The link itself is not spent.
    assert client.post(f"/open/{link}").status_code == 303


def test_wrong_links_are_limited_over_all_vaults(start: Start) -> None:
    host = start()
    page = page_of(host, "north")
    client = page.stranger(origin=page.origin)
    keys = [f"{id_}.wrong{number}" for number in range(4) for id_ in IDS.values()]

    statuses = [client.post(f"/open/{key}").status_code for key in keys]

    assert statuses == [401] * 10 + [429] * 2
    # The right link of a person opens all the same.
    assert client.post(page.link()).status_code == 303


def test_a_session_shows_only_its_people(start: Start) -> None:
    host = start()
    page = page_of(host, "north")

    own = page.browser("mira").get("/search?q=ferry")
    other = page.browser("tomas").get("/search?q=ferry")

    assert WORDS["north"] in own.text
    assert WORDS["north"] not in other.text


def test_a_signed_out_browser_is_signed_out_at_once(start: Start) -> None:
    host = start()
    north, south = page_of(host, "north"), page_of(host, "south")
    north_browser, south_browser = north.browser(), south.browser()
    assert north_browser.get("/notes").status_code == 200

    # `vault-memory web --sign-out` of another process.
    state = host.vaults.state_folder(IDS["north"])
    assert state is not None
    assert BrowserSessions(state).end_all() == 1

    assert north_browser.get("/notes").status_code == 401
    assert south_browser.get("/notes").status_code == 200


def test_a_vault_that_is_gone_signs_its_browsers_out(start: Start) -> None:
    host = start()
    page = page_of(host, "north")
    client = page.browser().client
    stranger = page.stranger().get("/notes")
    del host.vaults.folders[IDS["north"]]

    answer = client.get("/notes")

    assert (answer.status_code, answer.content) == (401, stranger.content)


def test_a_vault_that_cannot_be_opened_says_so_without_a_name(start: Start) -> None:
    host = start(idle_seconds=0.05)
    page = page_of(host, "north")
    client = page.browser().client
    until(lambda: host.pages.vaults() == [])
    host.vaults.trouble["north"] = VaultUnreachable("`/srv/people/north` is gone")

    answer = client.get("/notes")

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert "default-src" in answer.headers["content-security-policy"]
    assert 'data-code="vault_unavailable"' in answer.text
    for name in ("srv", *NAMES, *IDS.values()):
        assert name not in answer.text
    assert page_of(host, "south").browser().get("/notes").status_code == 200

    host.vaults.trouble.clear()
    assert client.get("/notes").status_code == 200


def test_an_idle_page_lets_its_vault_go(start: Start) -> None:
    host = start(idle_seconds=0.2)
    browser = page_of(host, "north").browser()
    assert browser.get("/notes").status_code == 200
    threads = _hubs()
    assert host.vaults.in_use["north"] == 1

    until(lambda: host.pages.vaults() == [])

    until(lambda: host.vaults.in_use["north"] == 0)
    until(lambda: _hubs() == threads - 1, says=_hubs)
    assert browser.get("/notes").status_code == 200


def _hubs() -> int:
    return sum(thread.name == "page events" for thread in threading.enumerate())


def test_an_open_tab_keeps_its_vault_open(start: Start) -> None:
    host = start(idle_seconds=0.1)
    north, south = page_of(host, "north"), page_of(host, "south")
    with _tab(host, north):
        until(lambda: host.pages.vaults() == [IDS["north"]])
        assert south.browser().get("/notes").status_code == 200
        until(lambda: host.pages.vaults() == [IDS["north"]])
        assert host.vaults.in_use["north"] == 1
    until(lambda: host.pages.vaults() == [])
    until(lambda: host.vaults.in_use["north"] == 0)


@contextmanager
def _tab(host: Host, page: ServedPage) -> Iterator[Tab]:
    """An open tab of a browser that is signed in."""
    cookie = str(page.browser().client.headers["cookie"])
    headers = {"cookie": cookie, "host": f"{page.name}:{page.port}"}
    tab = Tab(f"{host.url}/events", headers)
    assert tab.response.status_code == 200
    try:
        yield tab
    finally:
        tab.close()


def test_a_request_closes_the_longest_unused_page(start: Start) -> None:
    host = start(most_pages=2)
    north, south, west = (page_of(host, name).browser() for name in NAMES)
    for browser in (north, south, north, west):
        assert browser.get("/notes").status_code == 200

    assert host.pages.vaults() == [IDS["north"], IDS["west"]]
    until(lambda: host.vaults.in_use["south"] == 0)
    assert south.get("/notes").status_code == 200


def test_open_tabs_do_not_close_the_pages_of_one_another(start: Start) -> None:
    host = start(most_pages=1)
    north, south = page_of(host, "north"), page_of(host, "south")
    south_browser = south.browser()
    with _tab(host, north) as tab:
        refused = south_browser.client.get("/events")
        assert refused.status_code == 503
        assert host.pages.vaults() == [IDS["north"]]

        # A person who presses a link goes before a tab that only waits.
        assert south_browser.get("/notes").status_code == 200

        assert tab.is_over.wait(120)
        assert host.pages.vaults() == [IDS["south"]]


@pytest.mark.sampled
def test_a_vault_that_has_to_close_ends_its_tabs(start: Start) -> None:
    host = start()
    north, south = page_of(host, "north"), page_of(host, "south")
    browser = north.browser()
    with _tab(host, north) as tab, _tab(host, south) as other:
        assert browser.get("/notes").status_code == 200

        host.pages.end_soon(IDS["north"])

        assert tab.is_over.wait(120)
        until(lambda: host.vaults.in_use["north"] == 0)
        assert not other.is_over.is_set()
        assert host.pages.vaults() == [IDS["south"]]
    assert browser.get("/notes").status_code == 200


def test_the_end_of_the_host_ends_the_tabs(tmp_path: Path) -> None:
    with ExitStack() as stack:
        host = starter(tmp_path, stack)()
        stack.enter_context(_tab(host, page_of(host, "north")))
        vaults = host.vaults
    assert vaults.in_use["north"] == 0


@pytest.mark.sampled
def test_a_tab_learns_of_a_save_in_its_vault_and_of_no_other(start: Start) -> None:
    host = start()
    north, south = page_of(host, "north"), page_of(host, "south")
    with ExitStack() as stack:
        for page in (north, south):
            stack.enter_context(upkeep_here(page.memory))
        tab = stack.enter_context(_tab(host, north))
        strange = stack.enter_context(_tab(host, south))
        assert tab.next("state") == {"state": "live"}
        assert strange.next("state") == {"state": "live"}
        assert "no daemon" not in north.browser().get("/notes").text

        note = north.memory.root / NOTE
        note.write_text(note.read_text() + "- The puffin sleeps\n")

        tab.until_named(NOTE)
        assert "puffin" in north.browser().get("/search?q=puffin").text
        assert strange.events.empty()
