"""Runs `search` and `context` through a running daemon, without click.

Each function returns None when the full command has to answer: no daemon runs, it has other
settings, it refuses, or the command line has anything unusual in it.
"""

import sys
from collections.abc import Callable, Sequence

from vault_memory.api.exchange import exchange
from vault_memory.cli import quick_start, search_text
from vault_memory.cli.terminal import escaped, json_text
from vault_memory.command_line import Arguments, parse

TYPE_CHECKING = False  # as in `typing`, which would cost each question 10 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from vault_memory.contract.answers import ContextBlockJson, SearchAnswerJson

SECONDS = 10.0
"""Time for the daemon to answer; the full command, which then asks again, waits for 20 more"""
MOST_HITS = 1000
MOST_CHARS = 1 << 40
PURPOSES = ("chat", "briefing")

VALUES = ("vault", "config", "user", "channel", "group", "session")
SEARCH_VALUES = (
    *VALUES,
    "topic",
    "entity",
    "since",
    "until",
    "kind",
    "tag",
    "where",
    "path",
    "mode",
    "limit",
)
CONTEXT_VALUES = (*VALUES, "purpose", "budget", "confirmation")
SEARCH_FLAGS = ("json", "quiet", "private", "why", "copies", "archived")
CONTEXT_FLAGS = ("json", "quiet", "private", "all")

Daemon = Callable[[str, "dict[str, Any]"], "Any"]
"""Sends a call with its arguments, and returns the answer"""


class Unanswered(Exception):
    """The full command has to answer."""


class Output:
    """What a command prints."""

    def __init__(self, arguments: Arguments, text: str, remarks: Sequence[str]) -> None:
        self.arguments = arguments
        self.text = text
        """for stdout"""
        self.remarks = remarks
        """for stderr"""


def answer(command: str, words: Sequence[str]) -> int | None:
    """Run `search` or `context`, and return its exit code; None when the full command has to."""
    run = _search if command == "search" else _context
    try:
        output = run(words)
    except KeyboardInterrupt:
        return 130
    except Exception:
        # A question changes nothing, so the full command may ask it again and report the error.
        return None
    remarks = map(escaped, output.remarks)
    return quick_start.show(output.arguments, output.text, remarks)


def _search(words: Sequence[str]) -> Output:
    arguments = parse(words, SEARCH_VALUES, SEARCH_FLAGS)
    request = _search_request(arguments)
    daemon = _daemon(arguments)
    users = arguments.all("user")
    # Others read the answer in a channel, so a name alone does not open a person's own notes.
    is_closed = arguments.all("channel") and "private" not in arguments.options
    scopes = _scopes(arguments, () if is_closed else users)
    request["scopes"] = scopes or daemon("scopes", {})["scopes"]
    answer: SearchAnswerJson = daemon("search", request)
    _check_names(arguments, answer)
    remarks: list[str] = []
    if is_closed:
        remarks += map(search_text.closed_text, users)
    if "json" in arguments.options:
        return _json_output(arguments, answer, remarks)
    remarks += search_text.unsearched_texts(answer)
    remarks += search_text.freshness_texts(answer["freshness"])
    text = search_text.hits_text(answer, _unpainted)
    return Output(arguments, f"{escaped(text)}\n", remarks)


def _search_request(arguments: Arguments) -> "dict[str, Any]":
    """Return the request in the JSON contract. Raises Unanswered, ValueError."""
    if not search_text.has_words(" ".join(arguments.arguments)):
        # The query is missing or has no words; the full command reports it.
        raise Unanswered
    request: dict[str, Any] = {
        "topic": arguments.last("topic"),
        "entity": arguments.last("entity"),
        "mode": arguments.last("mode"),
        "session": arguments.last("session"),
        "kinds": list(arguments.all("kind")),
        "tags": list(arguments.all("tag")),
        "where": list(arguments.all("where")),
        "paths": list(arguments.all("path")),
        "why": "why" in arguments.options,
        "copies": "copies" in arguments.options,
        "archived": "archived" in arguments.options,
    }
    for name in ("topic", "entity"):
        # The full command refuses an empty name.
        if arguments.all(name) and not arguments.last(name).strip():
            raise Unanswered
    for name in ("since", "until"):
        if arguments.all(name):
            request[name] = _day(arguments.last(name))
    if arguments.all("limit"):
        request["limit"] = _number(arguments.last("limit"), 1, MOST_HITS)
    request = {name: value for name, value in request.items() if value}
    request["query"] = " ".join(arguments.arguments)
    return request


def _context(words: Sequence[str]) -> Output:
    arguments = parse(words, CONTEXT_VALUES, CONTEXT_FLAGS)
    request = _context_request(arguments)
    daemon = _daemon(arguments)
    request["scopes"] = _scopes_of_context(arguments, daemon)
    answer: ContextBlockJson = daemon("context", request)
    _check_names(arguments, answer)
    if "json" in arguments.options:
        return _json_output(arguments, answer, [])
    remarks = list(search_text.cut_texts(answer))
    remarks += search_text.freshness_texts(answer["freshness"])
    text = answer["text"]
    if not text.endswith("\n"):
        text += "\n"
    return Output(arguments, text, remarks)


def _context_request(arguments: Arguments) -> "dict[str, Any]":
    """Return the request in the JSON contract. Raises ValueError for a wrong value."""
    purpose = arguments.options.get("purpose", PURPOSES)[-1]
    if purpose not in PURPOSES:
        raise ValueError(purpose)
    request: dict[str, Any] = {}
    for name in ("purpose", "session", "confirmation"):
        if arguments.all(name):
            request[name] = arguments.last(name)
    if arguments.all("budget"):
        request["budget"] = _number(arguments.last("budget"), 0, MOST_CHARS)
    opens_private = {"private", "all"}
    request["private"] = not opens_private.isdisjoint(arguments.options)
    request["prompt"] = " ".join(arguments.arguments)
    return request


def _scopes_of_context(arguments: Arguments, daemon: Daemon) -> list[str]:
    """Return the scopes of a prompt. Raises Unanswered when the full command has to ask."""
    scopes = _scopes(arguments, arguments.all("user"))
    everything = "all" in arguments.options
    if scopes:
        # Names and `--all` exclude each other; the full command reports it.
        if everything:
            raise Unanswered
        return scopes
    scopes = list(daemon("scopes", {})["scopes"])
    if not everything and not search_text.belong_to_one_person(scopes):
        # It is not clear whose memory to give; the full command reports it.
        raise Unanswered
    return scopes


def _check_names(arguments: Arguments, answer: "Mapping[str, Any]") -> None:
    """Raise Unanswered for a name without notes: the full command looks for a misspelling."""
    has_closed = "channel" in arguments.options and "user" in arguments.options
    is_unclear = has_closed and quick_start.scopes_without_folder(arguments)
    if is_unclear or answer.get("unknown_scopes"):
        raise Unanswered


def _json_output(arguments: Arguments, answer: object, remarks: list[str]) -> Output:
    return Output(arguments, f"{json_text(answer)}\n", remarks)


def _daemon(arguments: Arguments) -> Daemon:
    """Return a function that asks the daemon. Raises Unanswered unless it has the same settings."""
    # Only the full command paints text and escapes what would move the cursor of a terminal.
    if sys.stdout.isatty():
        raise Unanswered
    socket = quick_start.socket_of(arguments) or ""
    if quick_start.ask(arguments, socket, "setup", {}, SECONDS) is None:
        raise Unanswered

    def ask(call: str, request: "dict[str, Any]") -> "Any":
        answer: dict[str, Any] = exchange(socket, call, request, SECONDS)
        # Since the last question, the daemon may have fallen behind the vault.
        if "error" in answer:
            raise Unanswered
        return answer

    return ask


def _scopes(arguments: Arguments, users: Sequence[str]) -> list[str]:
    scopes = [f"user:{name}" for name in users]
    for kind in ("channel", "group"):
        scopes += [f"{kind}:{name}" for name in arguments.all(kind)]
    # The full command refuses an empty name.
    if any(scope.rstrip().endswith(":") for scope in scopes):
        raise Unanswered
    return scopes


def _number(text: str, least: int, most: int) -> int:
    number = int(text)
    if not least <= number <= most:
        raise ValueError(text)
    return number


def _day(text: str) -> str:
    from datetime import date

    return date.fromisoformat(text).isoformat()


def _unpainted(text: str, style: str) -> str:
    return text
