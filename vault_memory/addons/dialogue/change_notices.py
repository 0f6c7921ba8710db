"""Notices of changed notes, for a client that listens: `subscriptions/listen` of MCP 2026-07-28.

The daemon sees each change first. Without one, notices begin when it runs again.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from vault_memory.api.daemon_changes import ChangeFeed, Changes
from vault_memory.errors import VaultMemoryError
from vault_memory.mcp import protocol
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol_results import uri_of

if TYPE_CHECKING:
    from vault_memory.mcp.stdio import Request

Json = dict[str, Any]

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
WAIT_SECONDS = 1.0
"""Between two looks at whether the client still listens"""
MOST_LISTENING = 8
"""Requests to listen at once; each has a thread of its own"""
_free = threading.BoundedSemaphore(MOST_LISTENING)


class _Wishes(msgspec.Struct, rename="camel"):
    """What a client wants to hear of. Its lists of tools and prompts never change here."""

    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None

    def honored(self) -> Json:
        """Returns the part that this server sends."""
        wishes = msgspec.to_builtins(self)
        return {name: value for name, value in wishes.items() if value}


class _Listen(msgspec.Struct):
    """Parameters of `subscriptions/listen`."""

    notifications: _Wishes


def answer_of(
    conversation: protocol.Conversation, request: "Request"
) -> Callable[[str, Json], Json]:
    """Returns the function that answers a request to listen, after the client has listened."""
    return lambda method, params: _outcome(conversation.serving, request, method, params)


def _outcome(serving: Callable[[], Serving], request: "Request", method: str, params: Json) -> Json:
    """Sends notices until the client stops listening. Returns the outcome of the request."""
    if not _free.acquire(blocking=False):
        return _error(protocol.BUSY, "too many requests listen; cancel one of them first")
    try:
        if not protocol.named_version(params):
            raise protocol.ProtocolError(
                protocol.METHOD_NOT_FOUND, f"there is no method `{method}`"
            )
        wishes = msgspec.convert(params, _Listen).notifications
        _Listener(serving(), request, wishes.honored()).listen()
    except protocol.ProtocolError as error:
        return {"error": error.as_json()}
    except msgspec.ValidationError as error:
        return _error(protocol.INVALID_PARAMS, f"wrong parameters: {error}")
    except VaultMemoryError as error:
        return _error(protocol.code_of(error), "the vault cannot be opened now")
    finally:
        _free.release()
    return {"result": {"resultType": "complete", "_meta": {SUBSCRIPTION_KEY: request.id}}}


def _error(code: int, message: str) -> Json:
    return {"error": {"code": code, "message": message}}


class _Listener:
    """One request to listen."""

    def __init__(self, serving: Serving, request: "Request", honored: Json) -> None:
        self._view = serving.view
        self._request = request
        self._honored = honored
        self._uris = set(honored.get("resourceSubscriptions", ()))
        self._feed = ChangeFeed(serving.memory)
        self._listed = self._paths()

    def listen(self) -> None:
        """Sends notices until the client has gone, or listens no more."""
        # Asked before the client knows that it is heard: no change lies between.
        known = self._feed.ask()
        self._notify(ACKNOWLEDGED, notifications=self._honored)
        while not (self._request.cancelled or self._request.writer.gone):
            news = self._feed.ask(known.id, WAIT_SECONDS) if known else self._feed.ask()
            if news is None:
                time.sleep(WAIT_SECONDS)
            else:
                # Fault: without a daemon, changes were not seen. Any note may be another one.
                self._send(news if known else news._replace(lost=True))
            known = news

    def _send(self, news: Changes) -> None:
        if not (news.notes or news.lost):
            return
        changed = {uri_of(note) for note in news.notes if self._view.may_read(note)}
        for uri in sorted(self._uris if news.lost else self._uris & changed):
            self._notify(UPDATED, uri=uri)
        if "resourcesListChanged" in self._honored and self._listed != (paths := self._paths()):
            self._listed = paths
            self._notify(LIST_CHANGED)

    def _paths(self) -> list[str]:
        return [note.note for note in self._view.notes()]

    def _notify(self, method: str, **params: Any) -> None:
        params["_meta"] = {SUBSCRIPTION_KEY: self._request.id}
        self._request.writer.write({"jsonrpc": "2.0", "method": method, "params": params})
