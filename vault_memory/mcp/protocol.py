"""Answers requests of MCP, in every version of the protocol since 2024-11-05.

This module uses no pipe and no thread. A client of a version up to 2025-11-25 begins with
`initialize`, which settles the version. Since 2026-07-28 each request names its version in `_meta`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from vault_memory.addons import table
from vault_memory.api import redact_paths
from vault_memory.errors import VaultMemoryError
from vault_memory.mcp import protocol_results, tools
from vault_memory.mcp.json_lines import decode
from vault_memory.mcp.tools import TOOLS

if TYPE_CHECKING:
    from vault_memory.mcp.http_session import Serving

Json = dict[str, Any]
Id = str | int
Handlers = dict[str, Callable[[Json], Json]]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = (-32700, -32600, -32601, -32602)
INTERNAL_ERROR, BUSY, VERSION_UNSUPPORTED = -32603, -32000, -32022

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that `initialize` settles, oldest first"""
STATELESS_VERSIONS = ("2026-07-28",)
"""Versions that each request names for itself"""

SESSION_KEY = "vault-memory/session"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_HOUR = 3_600_000
_TTL_MS = {
    "server/discover": _HOUR,
    "tools/list": _HOUR,
    "prompts/list": _HOUR,
    "resources/list": 0,
    "resources/templates/list": _HOUR,
    "resources/read": 0,
}
"""How long clients may use a result again, since 2026-07-28. A save may change a note at any moment;
the rest changes with this program"""


class ProtocolError(Exception):
    """A request that cannot be answered, with the code that the protocol has for the reason."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> Json:
        error: Json = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


class _Initialize(msgspec.Struct):
    """Parameters of `initialize`."""

    protocolVersion: str


class _Call(msgspec.Struct):
    """Parameters of `tools/call`."""

    name: str
    arguments: Json | None = None


class _Page(msgspec.Struct):
    """Parameters of a list that may have several pages."""

    cursor: str | None = None


class _Read(msgspec.Struct):
    """Parameters of `resources/read`."""

    uri: str


class Conversation:
    """Answers the requests of one client."""

    def __init__(self, serving: "Callable[[], Serving]", *, has_hooks: bool = False) -> None:
        self.serving = serving
        self.notices: Json = tools.CAPABILITIES["resources"]
        """Which notices of notes a client gets that listens"""
        self._introduction = tools.introduction(has_hooks=has_hooks)
        self._at_once: Handlers = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "server/discover": self._discovered,
            "tools/list": lambda params: tools.list_tools(),
            "resources/templates/list": lambda params: tools.list_templates(),
            "prompts/list": lambda params: tools.list_prompts(),
        }
        self._with_vault: Handlers = {
            "tools/call": self._call,
            "resources/list": self._list,
            "resources/read": self._read,
            "prompts/get": self._prompt,
        }

    def is_quick(self, method: str) -> bool:
        """Whether a request can be answered without the vault."""
        return method not in self._with_vault

    def answer(self, method: str, params: Json) -> Json:
        """Returns the result of a request. Raises ProtocolError."""
        handler = self._at_once.get(method) or self._with_vault.get(method)
        version = named_version(params)
        if handler is None or (version and method in ("initialize", "ping")):
            raise ProtocolError(METHOD_NOT_FOUND, f"there is no method `{method}`")
        if not version and method == "server/discover":
            raise ProtocolError(INVALID_PARAMS, f"`_meta` needs `{VERSION_KEY}`")
        result = handler(params)
        return _stateless(method, result) if version else result

    def outcome(self, method: str, params: Json) -> Json:
        """Returns the result of a request, or its error, by the name of its field."""
        try:
            return {"result": self.answer(method, params)}
        except ProtocolError as error:
            return {"error": error.as_json()}
        except Exception as error:
            import logging

            # Fault (H126): the error may contain text of a note, which must not be in a
            # log.
            logging.getLogger(__name__).error("%s failed: %s", method, type(error).__name__)
            return {"error": {"code": INTERNAL_ERROR, "message": "the memory cannot do this now"}}

    def _initialize(self, params: Json) -> Json:
        version = _checked(params, _Initialize).protocolVersion
        settled = version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"protocolVersion": settled, **self._introduction}

    def _discovered(self, params: Json) -> Json:
        """Returns the answer to `server/discover`."""
        introduction = self._introduction | {"supportedVersions": STATELESS_VERSIONS}
        # Every result has it in `_meta`.
        del introduction["serverInfo"]
        introduction["capabilities"] = tools.CAPABILITIES | {"resources": self.notices}
        return introduction

    def _call(self, params: Json) -> Json:
        call = _checked(params, _Call)
        # Fault: a wrong name must not open the vault, which takes time and a lock.
        if call.name not in TOOLS:
            raise ProtocolError(INVALID_PARAMS, f"there is no tool {call.name!r}")
        try:
            serving = self.serving().of_session(_named_session(params))
        except VaultMemoryError as error:
            return protocol_results.failed(_opening_error(error))
        arguments = call.arguments or {}
        if serving.view.caller.confirms and (
            confirmation := table.optional_part("dialogue.confirmation")
        ):
            return dict(confirmation.of_call(serving, call.name, arguments, params))
        return protocol_results.of_call(serving, call.name, arguments)

    def _list(self, params: Json) -> Json:
        cursor = _checked(params, _Page).cursor
        return self._resources(lambda serving: protocol_results.of_resources(serving, cursor))

    def _read(self, params: Json) -> Json:
        uri = _checked(params, _Read).uri
        return self._resources(
            lambda serving: protocol_results.of_resource(serving, uri), {"uri": uri}
        )

    def _prompt(self, params: Json) -> Json:
        return self._resources(
            lambda serving: table.part("dialogue.client_prompts").answer(serving, params)
        )

    def _resources(self, ask: Callable[["Serving"], Json], about: Json | None = None) -> Json:
        """Returns what the vault answers. An error has `about` as its data."""
        try:
            serving = self.serving()
        except VaultMemoryError as error:
            raise ProtocolError(code_of(error), _opening_error(error)) from None
        try:
            return ask(serving)
        except VaultMemoryError as error:
            raise ProtocolError(code_of(error), serving.explain(error), about) from None


def read_message(raw: bytes) -> tuple[Json | None, Json | None]:
    """Returns a request or a notification, or else the answer that says what is wrong with it.

    An answer of the client has neither: this server asks nothing, so it belongs to no request.
    """
    try:
        message = decode(raw)
    except (ValueError, RecursionError):
        return None, error_message(None, PARSE_ERROR, "the message is not JSON")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        id_ = id_of(message) if isinstance(message, dict) else None
        return None, error_message(id_, INVALID_REQUEST, "this is not one JSON-RPC 2.0 message")
    if message.get("method") is None and not message.keys().isdisjoint(("result", "error")):
        return None, None
    refusal = _problem_of(message)
    if refusal is not None:
        return None, error_message(id_of(message), *refusal)
    return message, None


def id_of(message: Json, name: str = "id") -> Id | None:
    """Returns the id of a request; None for a value that is not an id."""
    id_ = message.get(name)
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        return None
    # Fault: the encoder cannot write larger numbers.
    if isinstance(id_, int) and abs(id_) >= 1 << 63:
        return None
    return id_


def _problem_of(message: Json) -> tuple[int, str] | None:
    """Returns what is wrong with a request or a notification, as a code and in words."""
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return INVALID_REQUEST, "a request names its `method`"
    if "id" not in message:
        return None
    if id_of(message) is None:
        return INVALID_REQUEST, "the `id` of a request is a string or an integer"
    if params is not None and not isinstance(params, dict):
        return INVALID_PARAMS, "`params` is an object"
    return None


def error_message(id_: Id | None, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def code_of(error: VaultMemoryError) -> int:
    """Returns the code of the protocol for an error of ours."""
    return INVALID_PARAMS if error.http_status < 500 else INTERNAL_ERROR


def _opening_error(error: VaultMemoryError) -> str:
    """Returns why the vault cannot be opened, without a folder of the machine."""
    from pathlib import Path

    text = error.message + (f"\n\nhint: {error.hint}" if error.hint else "")
    # Fault: the model may repeat an error to others. A folder of the machine contains
    # the name of its user.
    return redact_paths.without_paths(text, [str(Path.home())])


def _checked(params: Json, kind: type[Any]) -> Any:
    """Returns the parameters in the shape of `kind`. Raises ProtocolError."""
    try:
        return msgspec.convert(params, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ProtocolError(INVALID_PARAMS, f"wrong parameters: {error}") from None


def meta_of(params: Mapping[str, Any]) -> Json:
    """Returns what a request says of itself."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def named_version(params: Mapping[str, Any]) -> str:
    """Returns the version that a request names, or "". Raises ProtocolError."""
    meta = meta_of(params)
    if VERSION_KEY not in meta:
        return ""
    version = meta[VERSION_KEY]
    if not isinstance(version, str) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
        needed = f"`{VERSION_KEY}` and `{CAPABILITIES_KEY}`"
        raise ProtocolError(INVALID_PARAMS, f"`_meta` needs {needed}")
    if version not in STATELESS_VERSIONS:
        supported = {"supported": list(STATELESS_VERSIONS), "requested": version}
        raise ProtocolError(VERSION_UNSUPPORTED, f"version {version!r} is not supported", supported)
    return version


def _named_session(params: Mapping[str, Any]) -> str:
    """Returns the conversation that asks, as our own provider for Hermes names it."""
    session = meta_of(params).get(SESSION_KEY)
    return session if isinstance(session, str) else ""


def _stateless(method: str, result: Json) -> Json:
    """Returns a result with the fields that every result has since 2026-07-28."""
    cache = {"ttlMs": _TTL_MS[method], "cacheScope": "private"} if method in _TTL_MS else {}
    return {"resultType": "complete", **result, **cache, "_meta": {SERVER_KEY: tools.SERVER}}
