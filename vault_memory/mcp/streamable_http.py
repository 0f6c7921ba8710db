"""MCP over HTTP, behind the token check of `vault_memory.http`: one message a request, answered in JSON.

No request belongs to a session. A version since 2026-07-28 is named by each request, in its headers
and in its `_meta`; earlier versions are settled by `initialize`, which changes nothing here.
"""

import base64
import binascii
import re

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import CALLER, VaultService, opened
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.json_lines import encode
from vault_memory.mcp.protocol import (
    HANDSHAKE_VERSIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    VERSION_KEY,
    VERSION_UNSUPPORTED,
    Conversation,
    Id,
    Json,
    ProtocolError,
    id_of,
    meta_of,
    read_message,
)
from vault_memory.rules.paths.scopes import Caller

LARGEST_BODY = 1 << 20
"""In bytes, of a request"""
HEADER_MISMATCH = -32020
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose parameter of this name the header `Mcp-Name` repeats"""
STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    VERSION_UNSUPPORTED: 400,
    METHOD_NOT_FOUND: 404,
}
"""Code of an error → HTTP status since 2026-07-28; an earlier version has 200"""
_ENCODED = re.compile(r"=\?base64\?(?P<text>[A-Za-z0-9+/]*=*)\?=")


def application(service: VaultService) -> ASGIApp:
    """Returns an ASGI app for streamable HTTP.

    The check of the token puts the caller into `scope["state"]["caller"]`. The app refuses a
    request without a caller. It raises VaultUnknown and VaultUnavailable before it answers: the
    app that it is mounted in has the words.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not isinstance(caller := scope.get("state", {}).get(CALLER), Caller):
            await _refusal(401, "unauthorised", "this request has no caller")(scope, receive, send)
        elif scope["method"] != "POST":
            refusal = _refusal(405, "method_not_allowed", "send requests as POST")
            refusal.headers["allow"] = "POST"
            await refusal(scope, receive, send)
        else:
            async with opened(service, scope["state"]) as memory:
                response = await _response(memory, caller, Request(scope, receive))
                await response(scope, receive, send)

    return serve


async def _live(receive: Receive, send: Send) -> None:
    """Answers the events of the lifespan. Nothing has to be started or stopped."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


def _refusal(status: int, code: str, message: str) -> Response:
    """Returns the answer to what is no message of the protocol."""
    return _json(status, {"error": {"code": code, "message": message, "hint": ""}})


def _json(status: int, value: Json) -> Response:
    return Response(encode(value), status, media_type="application/json")


async def _response(memory: VaultMemory, caller: Caller, request: Request) -> Response:
    """Returns the answer to one POST."""
    if not _accepts_json(request.headers.get("accept", "*/*")):
        return _refusal(406, "not_acceptable", "answers are JSON: accept `application/json`")
    content_type = request.headers.get("content-type", "").partition(";")[0]
    # Fault: a web page may send a form to any server without asking. It cannot send JSON without
    # the server's consent.
    if content_type.strip().lower() != "application/json":
        return _refusal(415, "not_json", "a message is JSON: send `Content-Type: application/json`")
    body = await _body(request)
    if body is None:
        return _refusal(413, "too_long", f"a message has at most {LARGEST_BODY:,} bytes")
    message, refusal = read_message(body)
    if refusal is not None:
        return _json(400, refusal)
    # No answer is owed to a notification, nor to an answer.
    if message is None or (id_ := id_of(message)) is None:
        return Response(status_code=202)
    return await _answer(Serving(memory, caller), id_, message, request)


def _accepts_json(accept: str) -> bool:
    kinds = {kind.partition(";")[0].strip().lower() for kind in accept.split(",")}
    return not kinds.isdisjoint({"application/json", "application/*", "*/*"})


async def _body(request: Request) -> bytes | None:
    """Returns the body of a request; None for one that is too long."""
    body = bytearray()
    try:
        async for block in request.stream():
            body += block
            if len(body) > LARGEST_BODY:
                return None
    except ClientDisconnect:
        # Nobody reads the answer to half a message.
        return b""
    return bytes(body)


async def _answer(serving: Serving, id_: Id, message: Json, request: Request) -> Response:
    """Returns the answer to a request."""
    method = message["method"]
    params = message.get("params") or {}
    is_stateless = _names_stateless_version(request, params)
    try:
        if is_stateless:
            # Fault: a proxy that decides by the headers would pass another request.
            _check_headers(request, method, params)
        conversation = Conversation(lambda: serving)
        # Vaults are files, and files block: the call runs in a thread.
        outcome = await anyio.to_thread.run_sync(conversation.outcome, method, params)
    except ProtocolError as error:
        outcome = {"error": error.as_json()}
    status = STATUSES.get(outcome.get("error", {}).get("code"), 200) if is_stateless else 200
    return _json(status, {"jsonrpc": "2.0", "id": id_, **outcome})


def _names_stateless_version(request: Request, params: Json) -> bool:
    """Returns whether a request is of a version that each request names."""
    version = request.headers.get(VERSION_HEADER)
    in_header = version is not None and version not in HANDSHAKE_VERSIONS
    return in_header or VERSION_KEY in meta_of(params)


def _check_headers(request: Request, method: str, params: Json) -> None:
    """Raises ProtocolError unless the headers say what the body says."""
    version = meta_of(params).get(VERSION_KEY)
    if version is None:
        raise ProtocolError(INVALID_PARAMS, f"`_meta` needs `{VERSION_KEY}`")
    expected = {VERSION_HEADER: version, METHOD_HEADER: method}
    name = params.get(NAMES.get(method, ""))
    if name is not None:
        expected[NAME_HEADER] = name
    for header, value in expected.items():
        values = request.headers.getlist(header)
        # Fault: two headers of one name are read differently by different programs.
        if len(values) != 1 or _decoded(values[0]) != value:
            problem = f"the header `{header}` does not say what the body says"
            raise ProtocolError(HEADER_MISMATCH, problem)


def _decoded(value: str) -> str | None:
    """Returns the text of a header, which may be in base64; None for wrong base64."""
    encoded = _ENCODED.fullmatch(value)
    if encoded is None:
        return value
    try:
        return base64.b64decode(encoded["text"], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
