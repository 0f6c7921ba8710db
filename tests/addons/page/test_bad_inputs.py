"""Whatever a request says, its answer is a view: never an error of the server, never a place of it."""

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import quote, quote_plus

import httpx
import msgspec
import pytest

from tests.addons.page.served_page import Browser, ServedPage, serving_page
from tests.addons.page.test_scopes_of_views import WORDS, Belongings, fill
from tests.effort import cases
from tests.http.conftest import opened
from vault_memory.addons.page.forms import FORM_TYPE
from vault_memory.addons.page.page_routes import ROUTES, PageRoute

REQUESTS = cases(3_000)
SEED = 16
SUM = "{{7*1234567}}"
EVALUATED = "8641969"
HOSTILE_NAMES = ('x" onmouseover=alert(1) <b>.md', "\u202egnp.md", "{{7*1234567}}.md")
TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "1e999",
    "nan",
    "9" * 25,
    "true",
    "2026-01-01",
    "2026-13-45",
    "user:mira",
    "user:",
    "::",
    "..",
    "../../etc/passwd",
    "..%2f..%2fetc",
    "%252e%252e/x",
    "/etc/passwd",
    "/etc/passwd:1",
    "C:\\Users\\mira",
    "\\\\host\\share",
    "\0",
    "a\0b.md",
    "USER.md/",
    "/",
    "//",
    "//evil.example.org/x",
    "http://evil.example.org",
    "javascript:alert(1)",
    "a" * 300,
    "a/" * 200,
    "a" * 4096,
    "n" * 8_000,
    "\r\n",
    "\r",
    "- a\r\n- b",
    "x\r\nset-cookie: a=b",
    "[" * 2_000,
    "- a\n" * 500,
    "(",
    '"',
    "'",
    "*",
    "NEAR(",
    "AND OR NOT",
    "; DROP TABLE notes",
    "ref:abc",
    "ffff",
    "\u202egnp.exe",
    "\u4e2d\u6587",
    "\U0001f4a9",
    "\ufeff",
    "\ufffd",
    "<script>alert(1)</script>",
    SUM,
    "{% raise %}",
    "${7*7}",
    "AAAA",
    "4pyT",
    "====",
)
USER_NOTE = "Users/mira/lantern/config/USER.md"
PLAUSIBLE = {
    "to": ["/log", "/facts", "//evil.example.org", "https://evil.example.org/"],
    "since": ["2026-05-01", ""],
    "until": ["2026-06-30", ""],
    "start": ["0", "1", "50"],
    "part": ["1", "2"],
    "around": ["2", "0"],
    "temporary": ["true", "on"],
    "automatic": ["true", "on"],
    "purpose": ["chat"],
    "budget": ["800", ""],
    "scope": ["user:mira", ""],
    "user": ["mira", ""],
    "channel": ["harbour", ""],
    "sure": ["yes", ""],
    "kind": ["", "diary"],
    "type": ["", "person"],
    "base": ["", "LSBhCg=="],
    "shown": ["", "LSBhCg=="],
    "line": ["Keeps a lamp", "{{7*1234567}}", "- a\n- b"],
    "heading": ["The velleda evenings", "Preferences"],
    "predicate": ["likes"],
    "object": ["quinces"],
    "match": ["Keeps a velleda lamp"],
    "text": ["# A note\r\n", "<script>alert(1)</script>"],
    "state": ["on", "off"],
}
"""Field → values that a browser may send"""
RAW = ("%ff", "%ed%a0%80", "%ed%b0%80x", "%", "%zz", "%c0%af", "%00")
"""Values in the spelling of a URL: of no text in UTF-8"""


@dataclass
class Attempt:
    """One request, as it is sent."""

    route: PageRoute
    path: str
    body: bytes = b""
    content_type: str = FORM_TYPE

    def send(self, browser: Browser) -> httpx.Response:
        headers = {"origin": browser.origin, "sec-fetch-site": "same-origin"}
        if self.route.method == "GET":
            return browser.client.get(self.path, headers=headers)
        headers["content-type"] = self.content_type
        return browser.client.post(self.path, content=self.body, headers=headers)


class Attempts:
    """Makes requests from the table of routes: names that exist among names that cannot."""

    def __init__(self, names: dict[str, list[str]], csrf: str) -> None:
        self._random = random.Random(SEED)
        self._names = names
        self._csrf = csrf

    def make(self, route: PageRoute) -> Attempt:
        """Returns a request of this route with values of any kind."""
        path = route.path
        fields = [field.encode_name for field in msgspec.structs.fields(route.takes)]
        for name in list(fields):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", self._value(name))
                fields.remove(name)
        pairs = [f"{name}={self._value(name)}" for name in self._chosen(fields)]
        if route.method == "GET":
            return Attempt(route, f"{path}?{'&'.join(pairs)}")
        return self._form(route, path, [f"csrf={self._csrf}", *pairs])

    def _chosen(self, fields: list[str]) -> list[str]:
        """Fields of a form: some missing, some doubled, some unknown."""
        chosen = [name for name in fields if self._random.random() < 0.9]
        if chosen and self._random.random() < 0.05:
            chosen.append(self._random.choice(chosen))
        if self._random.random() < 0.05:
            chosen.append(self._random.choice(("unknown", "__class__", "csrf", "")))
        return chosen

    def _form(self, route: PageRoute, path: str, pairs: list[str]) -> Attempt:
        body = "&".join(pairs).encode()
        match self._random.randrange(25):
            case 0:
                kind = "multipart/form-data; boundary=x"
                return Attempt(route, path, b"--x\r\n\r\n--x--", kind)
            case 1:
                return Attempt(route, path, b'{"id": "x"}', "application/json")
            case 2:
                return Attempt(route, path, body + b"&id=\xff\xfe")
            case 3:
                return Attempt(route, path, b"&".join([body] * 40))
            case _:
                return Attempt(route, path, body)

    def _value(self, field: str) -> str:
        kind = self._random.random()
        if kind < 0.03:
            return self._random.choice(RAW)
        if kind < 0.75:
            plausible = PLAUSIBLE.get(field) or self._names[field]
            return quote(self._random.choice(plausible), safe="/")
        if kind < 0.8:
            # The first letters of an id are those of several.
            return quote(self._random.choice(self._names["id"])[:3])
        text = self._random.choice(TEXTS)
        spell = self._random.choice((quote, quote_plus))
        return spell(text, safe=self._random.choice(("", "/")))


@dataclass(frozen=True)
class HostilePage:
    """A page of a vault with hostile names, and with a record that was redacted."""

    page: ServedPage
    names: dict[str, list[str]]
    places: list[str]


def _names_of(people: list[Belongings], notes: list[str]) -> dict[str, list[str]]:
    """Names that exist, by the fields that take them; any other field takes all."""
    ids = [
        name
        for each in people
        for name in (each.record, each.fact, each.proposal, each.conflict, each.thrown, each.turn)
    ]
    entities = [name for each in people for name in (each.user, f"{each.word} ship")]
    names: dict[str, list[str]] = defaultdict(lambda: [*entities, *notes, *ids])
    revisions = [each.revision for each in people]
    names |= {
        "id": ids,
        "ref": ids,
        "note": [*notes, *(each.note for each in people)],
        "night": [each.night for each in people],
        "name": entities,
        "entity": entities,
        "subject": entities,
        **dict.fromkeys(("from", "revision", "expected"), revisions),
    }
    return names


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostilePage]:
    folder = tmp_path_factory.mktemp("hostile")
    with ExitStack() as stack:
        memory = opened(folder, stack)
        people = [fill(memory, user) for user in WORDS]
        notes = [USER_NOTE]
        for name in HOSTILE_NAMES:
            path = f"Users/mira/memories/{name}"
            (memory.root / path).write_text(f"# {SUM}\n\n- <b>{SUM}\n", "utf-8")
            notes.append(path)
        memory.index(embed=False)
        memory.forget("zorblax oil")
        places = [str(folder), "/tmp/", os.environ["HOME"]]
        page = stack.enter_context(serving_page(memory))
        yield HostilePage(page, _names_of(people, notes), places)


def _faults(answer: httpx.Response, places: list[str]) -> list[str]:
    """What is wrong with an answer."""
    faults = []
    if answer.status_code >= 500:
        faults.append(str(answer.status_code))
    if answer.status_code >= 400 and 'role="alert"' not in answer.text:
        faults.append(f"{answer.status_code} without an alert")
    sent = f"{answer.headers} {answer.text}"
    faults += [place for place in places if place in sent]
    if EVALUATED in answer.text:
        faults.append("a text was run as a template")
    if "<script>alert" in answer.text:
        faults.append("a text became markup")
    return faults


@pytest.mark.sampled
@pytest.mark.parametrize("users", [("mira",), ()], ids=["mira", "everybody"])
def test_any_request_gets_a_view_that_says_what_is_wrong(
    hostile: HostilePage, users: tuple[str, ...]
) -> None:
    browser = hostile.page.browser(*users)
    attempts = Attempts(hostile.names, browser.csrf)

    failures = []
    for number in range(REQUESTS // 2):
        attempt = attempts.make(ROUTES[number % len(ROUTES)])
        answer = attempt.send(browser)
        if faults := _faults(answer, hostile.places):
            body = attempt.body[:300]
            failures.append((faults, attempt.route.method, attempt.path[:300], body))

    assert failures == []


@pytest.mark.parametrize("path", ["/search?q=", "/note/", "/prompt?prompt="])
def test_an_address_of_a_megabyte_does_not_end_the_page(hostile: HostilePage, path: str) -> None:
    browser = hostile.page.browser("mira")
    headers = {name: browser.client.headers[name] for name in ("host", "cookie")}
    # `httpx` itself refuses to send it.
    connection = HTTPConnection("127.0.0.1", hostile.page.port)

    # The server may close the connection before it has read the address.
    with closing(connection), suppress(ConnectionError):
        connection.request("GET", path + "x" * (1 << 20), headers=headers)
        assert 400 <= connection.getresponse().status < 500

    assert browser.get("/search").status_code == 200
