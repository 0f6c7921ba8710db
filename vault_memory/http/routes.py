"""The table of routes: each path with its call, its request and its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vault_memory.addons import table
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.server_sections import Serve
from vault_memory.contract import answers, requests
from vault_memory.http import http_handlers
from vault_memory.http.prometheus import Requests, metrics_route
from vault_memory.http.responses import reply
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.caller import Caller

if TYPE_CHECKING:
    from vault_memory.http import openapi
else:
    openapi = lazy_module("vault_memory.http.openapi")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call over HTTP."""

    method: str
    path: str
    """Names in braces are fields of the request; such a field may contain `/`"""
    name: str
    summary: str
    call: Callable[[VaultMemory, Caller, Any], Mapping[str, Any]]
    takes: type[Struct]
    gives: type[Any]
    """The shape of its answer in the contract"""


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/context",
        "context",
        "The memory block for a prompt",
        http_handlers.context,
        requests.ContextBody,
        answers.ContextBlockJson,
    ),
    Endpoint(
        "POST",
        "/v1/search",
        "search",
        "Find the lines that answer a question",
        http_handlers.search,
        requests.SearchRequest,
        answers.SearchAnswerJson,
    ),
    Endpoint(
        "POST",
        "/v1/turns",
        "record_turn",
        "Record what was said; search finds it at once",
        http_handlers.turns,
        requests.TurnRequest,
        answers.RecordedJson,
    ),
    Endpoint(
        "POST",
        "/v1/sessions/end",
        "end_session",
        "Say that a conversation is over",
        http_handlers.end_session,
        requests.SessionRequest,
        answers.EndedJson,
    ),
    Endpoint(
        "POST",
        "/v1/sessions/compact",
        "compact",
        "Sum a conversation up, and end it",
        http_handlers.compact,
        requests.CompactRequest,
        answers.CompactedJson,
    ),
    Endpoint(
        "POST",
        "/v1/remember",
        "remember",
        "Keep a text for good that the person said; else it waits",
        http_handlers.remember,
        requests.RememberRequest,
        answers.RememberedJson,
    ),
    Endpoint(
        "GET",
        "/v1/held",
        "list_held",
        "What waits for more turns before it is kept",
        http_handlers.held,
        requests.NoArguments,
        answers.HeldListJson,
    ),
    Endpoint(
        "POST",
        "/v1/feedback",
        "feedback",
        "Log what the person thinks of an answer",
        http_handlers.feedback,
        requests.FeedbackRequest,
        answers.FeedbackJson,
    ),
    Endpoint(
        "GET",
        "/v1/notes",
        "list_notes",
        "List the notes that search reads",
        http_handlers.notes,
        requests.NoArguments,
        answers.NotesJson,
    ),
    Endpoint(
        "GET",
        "/v1/notes/{note}",
        "read_note",
        "One note as it is now, with its revision",
        http_handlers.note,
        requests.NoteRequest,
        answers.NoteTextJson,
    ),
    Endpoint(
        "GET",
        "/v1/facts",
        "list_facts",
        "List the facts that hold now",
        http_handlers.facts,
        requests.FactsRequest,
        answers.FactsJson,
    ),
    Endpoint(
        "GET",
        "/v1/source",
        "source",
        "Where a line, a fact or an id comes from",
        http_handlers.source,
        requests.SourceArguments,
        answers.SourceJson,
    ),
)
"""The calls that need a token"""


def open_routes(
    memory: VaultMemory, serve: Serve, requests: Requests, *, for_local: bool
) -> list[Route]:
    """The routes without a token of ours: they are open, or check requests themselves.

    The checks of host, origin and length apply to them, too. `for_local`: a client may come without
    a token.
    """
    talk = memory.vault.config.talk
    talk_routes: list[Route] = []
    if talk.secret_file:
        talk_routes = table.part("talk.webhook").talk_routes(memory, talk)
    return [
        *public_routes(),
        *talk_routes,
        *metrics_route(memory, requests, serve.metrics_token_file, for_local=for_local),
    ]


def public_routes() -> list[Route]:
    """The routes that answer anybody, and read no vault."""
    return [
        Route("/healthz", _health, methods=["GET"]),
        Route("/openapi.json", _document, methods=["GET"]),
    ]


async def _health(request: Request) -> Response:
    return reply({"ok": True})


async def _document(request: Request) -> Response:
    return reply(openapi.document(ENDPOINTS))
