"""A program elsewhere asks for a memory: what a person sees and does in a real browser."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.addons.connector.connected import CHALLENGE, VERIFIER
from tests.browser import acts
from tests.browser.acts import expect
from tests.browser.conftest import open_link
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside, free_port

if TYPE_CHECKING:
    from playwright.sync_api import Page

Serve = Callable[[], WebProcess]
WORDS = "lamp harbour seven geese"
BUTTON = "Connect my memory"


@dataclass
class Program:
    """The site of a program, of another origin than the page."""

    url: str
    memory: str = ""
    """where the memory is"""
    client_id: str = ""
    answers: list[dict[str, list[str]]] = field(default_factory=list)

    def register(self, memory: str) -> None:
        """Registers itself."""
        self.memory = memory
        asked = {
            "client_name": "Pocket helper",
            "redirect_uris": [f"{self.url}/callback"],
            "token_endpoint_auth_method": "none",
        }
        self.client_id = post(memory, "/register", json=asked).json()["client_id"]

    def exchange(self) -> httpx.Response:
        """Exchanges the code of the last answer."""
        fields = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "code": self.answers[-1]["code"][0],
            "redirect_uri": f"{self.url}/callback",
            "code_verifier": VERIFIER,
        }
        return post(self.memory, "/token", data=fields)

    def form(self) -> str:
        """The button that leads to the memory."""
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": f"{self.url}/callback",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s1",
        }
        inputs = "".join(f'<input type="hidden" name="{k}" value="{v}">' for k, v in fields.items())
        return f'<form action="{self.memory}/authorize">{inputs}<button>{BUTTON}</button></form>'


def post(url: str, path: str, **options: Any) -> httpx.Response:
    """Posts to a server on this machine, whose name no resolver knows."""
    parts = urlsplit(url)
    headers = {"host": parts.netloc, **options.pop("headers", {})}
    return httpx.post(f"http://127.0.0.1:{parts.port}{path}", headers=headers, **options)


@pytest.fixture
def program() -> Iterator[Program]:
    """A site that asks for the memory, and gets the answer."""
    found = Program("")

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path == "/callback":
                found.answers.append(parse_qs(url.query))
            text = "<p>Connected" if url.path == "/callback" else found.form()
            page = f"<!doctype html><title>Pocket</title>{text}".encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *arguments: object) -> None:
            """Keeps the output of the tests clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    found.url = f"http://pocket.localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def served(house: Outside, program: Program) -> Iterator[WebProcess]:
    """`serve --public` at a name of this machine, with the first link that it prints."""
    port = free_port()
    url = f"http://memory.localhost:{port}"
    process = WebProcess(house, ("--public", url, "--port", str(port)), ("serve",))
    process.lines.put(process.start())
    program.register(url)
    yield process
    process.end()


def test_a_person_who_is_signed_in_lets_a_program_in_by_one_button(
    served: WebProcess, program: Program, tab: "Page"
) -> None:
    open_link(tab, served.link("--user", "mira"))

    tab.goto(program.url)
    tab.get_by_role("button", name=BUTTON).click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Let Pocket helper in?")
    assert "pocket.localhost" in tab.get_by_role("main").inner_text()
    tab.get_by_role("button", name="Let it in").click()

    expect(tab.get_by_text("Connected")).to_be_visible()
    assert program.answers[-1]["state"] == ["s1"]
    assert program.answers[-1]["iss"] == [program.memory]
    assert program.exchange().status_code == 200


def test_a_person_on_a_phone_signs_in_by_a_passphrase(
    served: WebProcess, house: Outside, program: Program, tab: "Page"
) -> None:
    done = house.run("web", "--passphrase", "--user", "mira", stdin=None, input=f"{WORDS}\n")
    assert done.code == 0, done

    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(program.url)
    tab.get_by_role("button", name=BUTTON).click()
    tab.get_by_label("Name").fill("mira")
    tab.get_by_label("Passphrase").fill("something else entirely")
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("alert")).to_contain_text("do not fit")
    tab.get_by_label("Name").fill("mira")
    tab.get_by_label("Passphrase").fill(WORDS)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Let Pocket helper in?")
    tab.get_by_role("button", name="Let it in").click()

    expect(tab.get_by_text("Connected")).to_be_visible()
    assert program.exchange().status_code == 200


def test_a_person_refuses_and_ends(served: WebProcess, program: Program, tab: "Page") -> None:
    open_link(tab, served.link("--user", "mira"))
    tab.goto(program.url)
    tab.get_by_role("button", name=BUTTON).click()
    tab.get_by_role("button", name="Refuse").click()
    expect(tab.get_by_text("Connected")).to_be_visible()
    assert program.answers[-1]["error"] == ["access_denied"]
    tab.goto(program.url)
    tab.get_by_role("button", name=BUTTON).click()
    tab.get_by_role("button", name="Let it in").click()
    expect(tab.get_by_text("Connected")).to_be_visible()
    access = program.exchange().json()["access_token"]

    tab.goto(program.memory)
    tab.get_by_role("link", name="Settings").click()
    tab.get_by_role("link", name="Connections").click()
    expect(tab.get_by_role("cell", name="Pocket helper", exact=True)).to_be_visible()
    tab.get_by_role("button", name="End: Pocket helper, the memory of mira").click()

    expect(tab.get_by_text("No program was let in")).to_be_visible()
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"authorization": f"Bearer {access}"}
    assert post(program.memory, "/mcp", json=asked, headers=headers).status_code == 401


def test_the_question_has_no_fault_of_accessibility(
    served: WebProcess, program: Program, tab: "Page"
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    open_link(tab, served.link())
    tab.goto(program.url)
    tab.get_by_role("button", name=BUTTON).click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Let Pocket helper in?")

    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = Axe().run(tab, options={"resultTypes": ["violations"]})
        assert found.response["violations"] == []
    assert acts.heading(tab).startswith("Let ")
