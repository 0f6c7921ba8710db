"""The server of `serve --public`: OAuth for programs outside, in front of MCP.

RFC 9728 says where to ask, RFC 8414 how, RFC 7591 registers a program, and RFC 7009 ends what it
has. The MCP SDK reads and checks the requests of a program.
"""

import re
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlencode, urlsplit

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vault_memory.addons.connector.client_documents import NoDocument
from vault_memory.addons.connector.grants import Grants
from vault_memory.addons.connector.provider import SCOPE, MemoryProvider
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import LOOPBACK_HOSTS
from vault_memory.errors import UsageError
from vault_memory.http.auth import REALM, Access, RateLimiter, host_name, unauthorised
from vault_memory.http.responses import refusal, reply
from vault_memory.http.tokens import TokenOwner, TokenTable, token_digest
from vault_memory.rules.paths.scopes import Caller

if TYPE_CHECKING:
    from vault_memory.addons.connector.grants import ConnectedProgram

MCP_PATH = "/mcp"
CALLS_PATH = "/v1/"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
REQUESTS_PER_MINUTE = 60
"""Of one address to one of the open paths"""
OF_ALL_PER_MINUTE = 600

LAST_PORT = 65_535
# Fault: without TLS, tokens would be sent where others on the way can read them.
_ORIGIN = re.compile(
    r"(?P<origin>https://[a-z0-9-]+(\.[a-z0-9-]+)*"
    r"|http://(127\.0\.0\.1|([a-z0-9-]+\.)*localhost))(:(?P<port>[1-9][0-9]{0,4}))?/?"
)
Endpoint = Callable[[Request], Awaitable[Response]]


class Connector:
    """Lets programs in to one vault, after a person has said yes on the page."""

    def __init__(self, memory: VaultMemory, public: str) -> None:
        """Raises UsageError for an address that others cannot reach safely."""
        self.url = _origin(public)
        self.resource = self.url + MCP_PATH
        self.host = host_name(urlsplit(self.url).netloc)
        metadata = f"{self.url}{RESOURCE_METADATA}{MCP_PATH}"
        self._challenge = f'{REALM}, resource_metadata="{metadata}", scope="{SCOPE}"'
        self._grants = Grants(memory.vault.state.path)
        self._provider = MemoryProvider(self.url, self.resource, self._grants)
        self._authenticator = ClientAuthenticator(self._provider)
        self._limiter = RateLimiter(REQUESTS_PER_MINUTE, time.monotonic)
        self._limiter_of_all = RateLimiter(OF_ALL_PER_MINUTE, time.monotonic)

    # ---- for the server ------------------------------------------------------------------

    def access(self, access: Access) -> Access:
        """Returns this access, and that of the programs that were let in."""
        hosts = (*access.settings.allowed_hosts, self.host)
        return access._replace(
            tokens=_ConnectorTokens(access.tokens, self._grants, self.resource),
            settings=access.settings._replace(allowed_hosts=hosts),
            # A program without a token learns where it gets one (RFC 9728, section 5.1).
            challenge=self._challenge,
        )

    def around(self, calls: ASGIApp) -> ASGIApp:
        """Returns the calls for bots, of which the tokens of programs open MCP alone."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            app = calls
            # Fault: a program could record words as those of the person, and have them learned.
            if scope["type"] == "http" and scope["path"].startswith(CALLS_PATH):
                token = Headers(scope=scope).get("authorization", "").partition(" ")[2].strip()
                if token and self._grants.of_access(token_digest(token)):
                    app = unauthorised(has_token=True, challenge=self._challenge)
            await app(scope, receive, send)

        return answer

    def routes(self) -> list[Route]:
        """Returns the routes that need no token."""
        register = RegistrationHandler(
            self._provider, ClientRegistrationOptions(enabled=True, default_scopes=[SCOPE])
        )
        return [
            _document(RESOURCE_METADATA, self._of_resource()),
            _document(RESOURCE_METADATA + MCP_PATH, self._of_resource()),
            _document(SERVER_METADATA, self._of_server()),
            Route("/authorize", self._limited(self._authorize), methods=["GET"]),
            Route("/token", self._limited(self._token), methods=["POST"]),
            Route("/register", self._limited(register.handle), methods=["POST"]),
            Route("/revoke", self._limited(self._revoke), methods=["POST"]),
        ]

    # ---- for the page --------------------------------------------------------------------

    def program_of(self, key: str) -> "ConnectedProgram | None":
        """Returns the program that asks; None for a question that is answered, or too old."""
        return self._provider.program_of(key)

    def allow(self, key: str, user: str) -> str | None:
        """Lets a program in to the memory of a person. Returns where the browser goes."""
        return self._provider.allow(key, user)

    def refuse(self, key: str) -> str | None:
        """Does not let a program in. Returns where the browser goes."""
        return self._provider.refuse(key)

    # ---- routes --------------------------------------------------------------------------

    def _of_resource(self) -> ProtectedResourceMetadata:
        # The models read texts as addresses, and keep one without a path as it is.
        return ProtectedResourceMetadata.model_validate(
            {
                "resource": self.resource,
                "authorization_servers": [self.url],
                "scopes_supported": [SCOPE],
                "resource_name": "vault-memory",
            }
        )

    def _of_server(self) -> OAuthMetadata:
        methods = ["none", "client_secret_post", "client_secret_basic"]
        return OAuthMetadata.model_validate(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
                "revocation_endpoint": f"{self.url}/revoke",
                "scopes_supported": [SCOPE],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": methods,
                "revocation_endpoint_auth_methods_supported": methods,
                "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": True,
                "authorization_response_iss_parameter_supported": True,
            }
        )

    def _limited(self, endpoint: Endpoint) -> Endpoint:
        """Returns the endpoint with a limit of requests: anybody may ask it."""

        async def answer(request: Request) -> Response:
            client = (_address(request), request.url.path)
            wait = self._limiter.take(client) or self._limiter_of_all.take("all")
            if wait:
                again = {"retry-after": str(wait)}
                return refusal(429, "too_often", "too many requests", f"wait {wait} s", again)
            return await endpoint(request)

        return answer

    async def _authorize(self, request: Request) -> Response:
        """Sends the browser to the question for the person, or back with an error."""
        try:
            await self._provider.look_up(request.query_params.get("client_id", ""))
        except NoDocument as error:
            return refusal(400, "invalid_client", str(error), "connect with another program")
        response = await AuthorizationHandler(self._provider).handle(request)
        target = response.headers.get("location", "")
        if target and not target.startswith(f"{self.url}/connect/"):
            # The SDK names no issuer beside its errors.
            response.headers["location"] = construct_redirect_uri(target, iss=self.url)
        return response

    async def _token(self, request: Request) -> Response:
        """Answers a code or a refresh token by the next tokens."""
        request = await _with_client_id(request)
        resource = (await request.form()).get("resource")
        # Fault: a program would take the token for one of another server.
        if resource is not None and not self._provider.is_ours(str(resource)):
            return _oauth_error(400, "invalid_target", f"this server is `{self.resource}`")
        response: Response = await TokenHandler(self._provider, self._authenticator).handle(request)
        return response

    async def _revoke(self, request: Request) -> Response:
        """Ends the connection of a token, if it is the program's own."""
        request = await _with_client_id(request)
        try:
            client = await self._authenticator.authenticate_request(request)
        except AuthenticationError as error:
            return _oauth_error(401, "invalid_client", error.message)
        token = str((await request.form()).get("token", ""))
        connection = self._grants.of_token(token)
        if connection is not None and connection.program.client_id == client.client_id:
            self._grants.end(connection.id)
        # A token that is not known is none any more (RFC 7009, section 2.2).
        return reply({})


class _ConnectorTokens:
    """The configured tokens, and those of programs that were let in."""

    def __init__(self, configured: TokenTable, grants: Grants, resource: str) -> None:
        self._configured = configured
        self._grants = grants
        self._resource = resource

    async def owner(self, digest: bytes) -> TokenOwner | None:
        """Returns the owner of the token with this digest, or None."""
        owner = await self._configured.owner(digest)
        if owner is not None:
            return owner
        connection = self._grants.of_access(digest)
        # Fault: a token for another address of this vault opens nothing at this one.
        if connection is None or connection.address.resource != self._resource:
            return None
        return TokenOwner(Caller(connection.address.user))


def _origin(public: str) -> str:
    """Returns a public address without its last slash. Raises UsageError."""
    address = _ORIGIN.fullmatch(public.strip().lower())
    # Fault: no name answers at a port above 65,535.
    if address is None or int(address["port"] or 0) > LAST_PORT:
        raise UsageError(
            f"`{public}` is not an address that programs elsewhere can reach",
            hint="write `https://` and the name at which your server with TLS answers, such as "
            "`--public https://memory.example.org`",
        )
    # Fault: programs leave the usual port out, and would be told that another server is here.
    usual = "443" if address["origin"].startswith("https:") else "80"
    port = address["port"] or usual
    return address["origin"] + ("" if port == usual else f":{port}")


def _address(request: Request) -> str:
    """Returns the address of a client; behind a server of this machine, what that one says."""
    address = request.client.host if request.client else ""
    forwarded = request.headers.getlist("x-forwarded-for")
    if address in LOOPBACK_HOSTS and forwarded:
        # Fault: a client can send the header itself. The server in front adds the last entry.
        return forwarded[-1].rpartition(",")[2].strip()
    return address


async def _with_client_id(request: Request) -> Request:
    """Returns the request with the client's id in its form, where the SDK looks for it.

    A client that says its secret in the header may say its id there alone (RFC 6749, 2.3.1).
    """
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    fields = [(name, str(value)) for name, value in (await request.form()).multi_items()]
    if scheme.lower() != "basic" or any(name == "client_id" for name, _ in fields):
        return request
    with suppress(ValueError):
        client_id = b64decode(credentials).decode().partition(":")[0]
        body = urlencode([*fields, ("client_id", unquote(client_id))]).encode()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return Request(request.scope, receive)
    return request


def _document(path: str, metadata: BaseModel) -> Route:
    """Returns the route of a document that never changes while the server runs."""
    document = metadata.model_dump(mode="json", exclude_none=True)

    async def answer(request: Request) -> Response:
        return reply(document, headers={"cache-control": "public, max-age=3600"})

    return Route(path, answer, methods=["GET"])


def _oauth_error(status: int, code: str, description: str) -> Response:
    return reply({"error": code, "error_description": description}, status)
