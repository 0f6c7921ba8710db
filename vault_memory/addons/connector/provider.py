"""What the server parts of the MCP SDK ask: which program is this, which code, which token.

The flow is OAuth 2.1 with PKCE, as revision 2026-07-28 of MCP asks for it. The SDK checks requests;
here is what was asked, who allowed it, and what came of it.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import anyio
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl, ValidationError

from vault_memory.addons.connector import client_documents, grants
from vault_memory.addons.connector.client_documents import ClientDocuments, NoDocument
from vault_memory.addons.connector.grants import ConnectedProgram, Grants, MemoryAddress
from vault_memory.config import LOOPBACK_HOSTS

SCOPE = "memory"
"""The only scope: to read and change the memory of one person"""
ASK_SECONDS = 600
"""How long a person may take to decide"""
MOST_REQUESTS = 500
"""Requests that wait for a person; the oldest go first"""
CODE_SECONDS = 60
NO_SCHEMES = ("about", "blob", "data", "file", "ftp", "javascript", "vbscript", "ws", "wss")
"""Schemes that open no program that waits for an answer"""
LONGEST_NAME = 80
LONGEST_REGISTRATION = 4 << 10
"""Letters; one with several addresses has some 600"""


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """What a program asks a person for."""

    program: ConnectedProgram
    params: AuthorizationParams
    until: float


class KnownClient(OAuthClientInformationFull):
    """A client of which this server reads more kindly what it asks for."""

    def validate_scope(self, requested_scope: str | None) -> list[str]:
        """Returns the only scope: the answer says what was given (RFC 6749, section 3.3)."""
        return [SCOPE]

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """Returns where the answer goes. Raises InvalidRedirectUriError."""
        try:
            return super().validate_redirect_uri(redirect_uri)
        except InvalidRedirectUriError:
            # A program on a computer listens on any port that is free (RFC 8252, section 7.3).
            if redirect_uri is None or not self._has_loopback(redirect_uri):
                raise
            return redirect_uri

    def _has_loopback(self, redirect_uri: AnyUrl) -> bool:
        requested = urlsplit(str(redirect_uri))
        if (
            requested.scheme != "http"
            or requested.hostname not in LOOPBACK_HOSTS
            or "@" in requested.netloc
        ):
            return False
        registered = (urlsplit(str(uri)) for uri in self.redirect_uris or ())
        return any(_without_port(requested) == _without_port(uri) for uri in registered)


def _without_port(url: SplitResult) -> tuple[str | None, ...]:
    return url.scheme, url.hostname, url.path, url.query, url.fragment


class _Code(AuthorizationCode):
    """A code, and what came of it."""

    program: ConnectedProgram
    connection_id: str = ""
    """the id of the connection; empty before the code was used"""


Provider = OAuthAuthorizationServerProvider[_Code, RefreshToken, AccessToken]


class MemoryProvider(Provider):
    """The programs, requests, codes and tokens of one vault."""

    def __init__(
        self,
        issuer: str,
        resource: str,
        grants_of_vault: Grants,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`issuer` is the public address of this server, and `resource` that of its MCP."""
        self.issuer = issuer
        self.resource = resource
        self._grants = grants_of_vault
        self._documents = ClientDocuments()
        self._clock = clock
        self._requests: dict[str, ConnectionRequest] = {}
        self._codes: dict[str, _Code] = {}
        # Fault: programs ask in one thread while people answer in others.
        self._lock = threading.Lock()

    # ---- programs ----------------------------------------------------------------------

    async def look_up(self, client_id: str) -> None:
        """Fetches what a client says about itself now. Raises NoDocument."""
        if client_documents.is_address(client_id):
            document = await anyio.to_thread.run_sync(self._documents.fetch, client_id)
            _described(document)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Returns a client; None for an unknown one."""
        metadata = self._documents.latest(client_id) or self._grants.registration(client_id)
        if metadata is None:
            return None
        if client_documents.is_address(client_id):
            return _described(metadata)
        try:
            return KnownClient.model_validate(metadata)
        except ValidationError:
            # Fault: a person may edit any file of the state folder. Then it registers again.
            return None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps a client that registered itself. Raises RegistrationError."""
        for uri in client_info.redirect_uris or ():
            if problem := redirect_problem(str(uri)):
                raise RegistrationError("invalid_redirect_uri", problem)
        metadata = client_info.model_dump(mode="json", exclude_none=True)
        # Fault: each request reads the registrations, and anybody may make long ones.
        if len(json.dumps(metadata)) > LONGEST_REGISTRATION:
            reason = f"a program says at most {LONGEST_REGISTRATION} letters about itself"
            raise RegistrationError("invalid_client_metadata", reason)
        self._grants.register(client_info.client_id, metadata)

    # ---- the question, and the answer of the person --------------------------------------

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Returns where the browser goes: to the question for the person. Raises AuthorizeError."""
        # Fault: a token for this server must not be asked for as one of another server.
        if params.resource is not None and not self.is_ours(params.resource):
            raise AuthorizeError("invalid_target", f"this server is `{self.resource}`")
        now = self._clock()
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._requests = {
                key: request for key, request in self._requests.items() if request.until > now
            }
            while len(self._requests) >= MOST_REQUESTS:
                del self._requests[next(iter(self._requests))]
            program = _program(client, params)
            self._requests[key] = ConnectionRequest(program, params, now + ASK_SECONDS)
        return f"{self.issuer}/connect/{key}"

    def program_of(self, key: str) -> ConnectedProgram | None:
        """Returns the program of a question; None for one that is answered, or too old."""
        request = self._requests.get(key)
        return request.program if request is not None and request.until > self._clock() else None

    def allow(self, key: str, user: str) -> str | None:
        """Lets a program in to the memory of a person. Returns where the browser goes."""
        request = self._taken(key)
        now = self._clock()
        if request is None or request.until <= now:
            return None
        program, params = request.program, request.params
        secret = secrets.token_urlsafe(32)
        new = _Code(
            code=secret,
            scopes=[SCOPE],
            expires_at=now + CODE_SECONDS,
            client_id=program.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=self.resource,
            subject=user,
            program=program,
        )
        with self._lock:
            codes = self._codes.items()
            self._codes = {name: code for name, code in codes if code.expires_at > now}
            self._codes[secret] = new
        return self._answer(params, code=secret)

    def refuse(self, key: str) -> str | None:
        """Does not let a program in. Returns where the browser goes."""
        request = self._taken(key)
        return None if request is None else self._answer(request.params, error="access_denied")

    def _taken(self, key: str) -> ConnectionRequest | None:
        """Returns a question that nobody answers any more."""
        with self._lock:
            return self._requests.pop(key, None)

    def _answer(self, params: AuthorizationParams, **fields: str) -> str:
        uri = str(params.redirect_uri)
        # RFC 9207: without the issuer, a program could take the code to another server.
        return construct_redirect_uri(uri, **fields, state=params.state, iss=self.issuer)

    def is_ours(self, resource: str) -> bool:
        """Returns whether an address is that of the MCP of this server."""
        return resource.rstrip("/").lower() == self.resource.lower()

    # ---- codes and tokens ----------------------------------------------------------------

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> _Code | None:
        """Returns a code that was not used. A second use ends what the first one opened."""
        code = self._codes.get(authorization_code)
        if code is None or code.client_id != client.client_id:
            return None
        if code.connection_id:
            # Fault: the code was stolen, by this one or by the one before.
            self._grants.end(code.connection_id)
            return None
        return code

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: _Code
    ) -> OAuthToken:
        """Makes the connection of a code. Raises TokenError."""
        if authorization_code.connection_id:
            raise TokenError("invalid_grant", "authorization code does not exist")
        address = MemoryAddress(authorization_code.subject or "", authorization_code.resource or "")
        # What the program said about itself is kept as long as its connection.
        metadata = client.model_dump(mode="json", exclude_none=True)
        self._grants.register(client.client_id, metadata)
        pair = self._grants.open(authorization_code.program, address)
        authorization_code.connection_id = pair.connection_id
        return _token(pair.access, pair.refresh)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        """Returns a refresh token that is valid; one that was replaced ends its connection."""
        connection = self._grants.of_refresh(refresh_token)
        # Fault: a connection for another address is none here.
        if connection is None or connection.address.resource != self.resource:
            return None
        return RefreshToken(
            token=refresh_token,
            client_id=connection.program.client_id,
            scopes=[SCOPE],
            resource=connection.address.resource,
            subject=connection.address.user,
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Replaces a refresh token. Raises TokenError."""
        pair = self._grants.refresh(refresh_token.token)
        if pair is None:
            raise TokenError("invalid_grant", "refresh token does not exist")
        return _token(pair.access, pair.refresh)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Not used: `ConnectorTokens` looks tokens up by their digests."""
        raise NotImplementedError

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Not used: `Connector` ends the connection of a token itself."""
        raise NotImplementedError


def redirect_problem(uri: str) -> str:
    """Returns why no answer may go to an address; empty when one may."""
    try:
        url = urlsplit(uri)
    except ValueError:
        return f"`{uri}` is not an address"
    if url.fragment or "@" in url.netloc:
        return f"`{uri}` has a fragment or a name before its host"
    # Fault: the code would be sent where others on the way can read it.
    is_here = url.hostname in LOOPBACK_HOSTS or (url.hostname or "").endswith(".localhost")
    if url.scheme == "http" and not is_here:
        return f"`{uri}` is not encrypted, and not on this computer"
    if not url.scheme or url.scheme in NO_SCHEMES or (url.scheme == "https" and not url.hostname):
        return f"`{uri}` opens no program"
    return ""


def _described(document: Mapping[str, Any]) -> KnownClient:
    """Returns the client that a document describes. Raises NoDocument."""
    # Fault: a secret in a document that anybody can read proves nothing.
    if (
        document.get("client_secret")
        or document.get("token_endpoint_auth_method", "none") != "none"
    ):
        raise NoDocument("the program does not identify itself by its address alone")
    metadata = {**document, "token_endpoint_auth_method": "none", "scope": SCOPE}
    try:
        client = KnownClient.model_validate(metadata)
    except ValidationError:
        raise NoDocument("the document of the program is damaged") from None
    for uri in client.redirect_uris or ():
        if problem := redirect_problem(str(uri)):
            raise NoDocument(problem)
    return client


def _program(client: OAuthClientInformationFull, params: AuthorizationParams) -> ConnectedProgram:
    name = " ".join((client.client_name or "").split())[:LONGEST_NAME]
    url = urlsplit(str(params.redirect_uri))
    is_web = url.scheme in ("http", "https")
    place = (url.hostname or "") if is_web else f"{url.scheme}:"
    return ConnectedProgram(client.client_id, name or "A program without a name", place)


def _token(access: str, refresh: str) -> OAuthToken:
    return OAuthToken(
        access_token=access, expires_in=grants.ACCESS_SECONDS, scope=SCOPE, refresh_token=refresh
    )
