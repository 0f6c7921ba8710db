"""A vault with `serve --public`, a person's browser, and programs of the real SDK outside."""

import base64
import contextlib
import hashlib
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp.types import CallToolResult, TextContent

from tests.http.served import running
from vault_memory.addons.connector.connector import Connector
from vault_memory.addons.page.browser_sessions import BrowserSessions, Rights
from vault_memory.addons.page.events import EventHub
from vault_memory.addons.page.page_app import PageSettings, page_application
from vault_memory.addons.page.running import PageAddress
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import SingleVault
from vault_memory.config.server_sections import Serve
from vault_memory.http.application import ServedRoutes, application, vault_routes
from vault_memory.http.auth import Access
from vault_memory.http.listen import Server, at_address
from vault_memory.http.prometheus import Requests
from vault_memory.http.tokens import Tokens
from vault_memory.mcp import streamable_http

CALLBACK = "http://localhost:33418/callback"
PATIENCE_SECONDS = 120
VERIFIER = "v" * 64
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
)


@dataclass
class Person:
    """A person's browser, which goes where links and forms lead."""

    url: str
    client: httpx.Client

    def sign_in(self, sessions: BrowserSessions, *users: str) -> None:
        """Opens a link that works once."""
        key = sessions.make_link(Rights(users or None))
        answer = self.client.post(f"/open/{key}")
        assert answer.status_code == 303, answer.text
        self.client.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]

    def asks(self, address: str) -> httpx.Response:
        """Goes to the address that a program opens, up to the question or the sign-in."""
        answer = self.client.get(address)
        assert answer.status_code == 302, answer.text
        target = answer.headers["location"]
        if not target.startswith(self.url + "/connect/"):
            return answer
        # The page leads the browser on, so that it sends its cookie.
        page = self.client.get(target)
        return self.client.get(refresh_of(page))

    def answers(self, question: httpx.Response, decision: str = "allow", user: str = "") -> str:
        """Presses a button of the question. Returns where the browser goes."""
        done = self.post(question, decision, user)
        assert done.status_code == 200, done.text
        return refresh_of(done)

    def post(self, question: httpx.Response, decision: str, user: str = "") -> httpx.Response:
        """Posts a form of the question."""
        fields = fields_of(question.text)
        fields["user"] = user or fields.get("user", "")
        if decision == "refuse":
            del fields["user"]
        return self.client.post(f"/connection/{decision}", data=fields)


def refresh_of(page: httpx.Response) -> str:
    """The address to which a page leads on by itself."""
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', page.text)
    assert found, page.text
    return found[1].replace("&amp;", "&")


def fields_of(text: str) -> dict[str, str]:
    """The hidden fields of the first form."""
    form = text.partition("<form")[2].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))


@dataclass
class Kept:
    """What a program keeps between two starts."""

    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


@dataclass
class Outsiders:
    """Programs outside and people, who know the address of a server."""

    url: str
    sessions: BrowserSessions
    verify: ssl.SSLContext | bool = True
    """how the certificate of the server is checked"""
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def resource(self) -> str:
        return f"{self.url}/mcp"

    def client(self, **headers: str) -> httpx.Client:
        """A program, or a browser, without a cookie."""
        client = httpx.Client(
            base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS, verify=self.verify
        )
        self.clients.append(client)
        return client

    def person(self, *users: str, signed_in: bool = True) -> Person:
        """The browser of a person who may see the notes of these people; all without names."""
        person = Person(self.url, self.client(origin=self.url))
        if signed_in:
            person.sign_in(self.sessions, *users)
        return person

    async def call(
        self,
        person: Person,
        kept: Kept,
        query: str,
        *,
        decision: str = "allow",
        document: str | None = None,
    ) -> str:
        """What `memory_search` of the real SDK's client says, after the flow if it is needed."""
        went: list[str] = []

        async def open_browser(address: str) -> None:
            went.append(person.answers(person.asks(address), decision))

        async def wait_for_code() -> AuthorizationCodeResult:
            answer = query_of(went[-1])
            return AuthorizationCodeResult(
                code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss")
            )

        provider = OAuthClientProvider(
            self.resource,
            OAuthClientMetadata(client_name="Pocket helper", redirect_uris=[CALLBACK]),  # type: ignore[list-item]
            kept,
            open_browser,
            wait_for_code,
            document,
        )
        async with httpx2.AsyncClient(
            auth=provider, timeout=PATIENCE_SECONDS, verify=self.verify
        ) as carrier:
            transport = streamable_http_client(self.resource, http_client=carrier)
            async with Client(transport) as client:
                return text_of(await client.call_tool("memory_search", {"query": query}))

    def address(self, client_id: str, **changed: str | None) -> str:
        """The address that a program opens in the browser; None leaves a parameter out."""
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s1",
            "resource": self.resource,
            **changed,
        }
        return f"/authorize?{urlencode({k: v for k, v in asked.items() if v is not None})}"

    def code(self, person: Person, program: Mapping[str, str], **changed: str | None) -> str:
        """The code that a program gets when a person lets it in."""
        question = person.asks(self.address(program["client_id"], **changed))
        return query_of(person.answers(question))["code"]

    def token(self, program: Mapping[str, str], **fields: str) -> httpx.Response:
        """Asks for tokens, as a program that registered itself."""
        given = {
            "client_id": program["client_id"],
            "client_secret": program.get("client_secret", ""),
            **fields,
        }
        return self.client().post("/token", data=given)

    def exchange(self, program: Mapping[str, str], code: str, /, **changed: str) -> httpx.Response:
        """Exchanges a code for tokens."""
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
            "resource": self.resource,
            **changed,
        }
        return self.token(program, **asked)

    def refresh(self, program: Mapping[str, str], token: str) -> httpx.Response:
        """Exchanges a refresh token for the next tokens."""
        return self.token(program, grant_type="refresh_token", refresh_token=token)

    def let_in(self, *users: str) -> tuple[dict[str, str], dict[str, str]]:
        """A program that a person has let in, and its first tokens."""
        program = self.registered()
        answer = self.exchange(program, self.code(self.person(*users), program))
        assert answer.status_code == 200, answer.text
        return program, answer.json()

    def tools(self, access: str) -> httpx.Response:
        """Asks for the tools with an access token."""
        client = self.client(authorization=f"Bearer {access}")
        return client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    def found(self, access: str, query: str) -> str:
        """What `memory_search` says to the holder of an access token."""
        client = self.client(authorization=f"Bearer {access}")
        params = {"name": "memory_search", "arguments": {"query": query}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = client.post("/mcp", json=asked)
        assert answer.status_code == 200, answer.text
        said: str = answer.json()["result"]["content"][0]["text"]
        return said

    def registered(self, **metadata: object) -> dict[str, str]:
        """What a program gets that registers itself."""
        asked = {"client_name": "Pocket helper", "redirect_uris": [CALLBACK], **metadata}
        answer = self.client().post("/register", json=asked)
        assert answer.status_code == 201, answer.text
        found: dict[str, str] = answer.json()
        return found


@dataclass
class Connected(Outsiders):
    """A server that programs outside reach, in this process."""

    memory: VaultMemory = field(kw_only=True)
    connector: Connector = field(kw_only=True)


def query_of(address: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def text_of(result: CallToolResult) -> str:
    """The words of an answer."""
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


@contextlib.contextmanager
def connected(
    memory: VaultMemory, settings: Mapping[str, object] | None = None
) -> Iterator[Connected]:
    """A server in a thread of this process, assembled as `serve --public` does it."""
    listening = at_address("127.0.0.1", 0)
    port = listening.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    connector = Connector(memory, url)
    requests = Requests()
    access = Access(Tokens({"": {}}), Serve(**(settings or {})))  # type: ignore[arg-type]
    own = [*vault_routes(memory, access, requests), *connector.routes()]
    service = SingleVault(memory)
    hub = EventHub(memory)
    names = PageSettings(
        PageAddress("127.0.0.1", port), allowed_hosts=(connector.host,), connector=connector
    )
    routes = ServedRoutes(
        page_application(memory, names, hub), {"/mcp": streamable_http.application(service)}, own
    )
    server = Server(
        connector.around(application(service, connector.access(access), routes, requests)),
        stopping=hub.stop,
    )
    state = memory.vault.state.path
    found = Connected(url, BrowserSessions(state), memory=memory, connector=connector)
    with running(server, listening):
        try:
            yield found
        finally:
            for client in found.clients:
                client.close()
