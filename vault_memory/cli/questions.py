"""`search` and `context` through the daemon that runs, without click.

Each returns None when the full command has to answer: no daemon runs, it has other settings, it refuses, or the
command line is not plain.
"""

import sys
from collections.abc import Callable, Sequence

from vault_memory.cli import quick_start, search_text
from vault_memory.cli.terminal import escaped, json_text
from vault_memory.command_line import Arguments, parse
from vault_memory.daemon.exchange import exchange

TYPE_CHECKING = False  # as in `typing`, which would cost each question 10 ms
if TYPE_CHECKING:
    from typing import Any

SECONDS = 10.0
"""For the daemon to answer; the full command, which then asks again, waits for 20 more"""
VALUES = ("vault", "config", "user", "channel", "group", "session")
FLAGS = ("json", "quiet", "private")
SEARCH_VALUES = ("topic", "entity", "since", "until", "kind", "mode", "limit")
MOST_HITS = 1000
MOST_CHARS = 1 << 40
CONTEXT_VALUES = ("purpose", "budget", "confirmation")
PURPOSES = ("chat", "briefing")

Daemon = Callable[[str, "dict[str, Any]"], "dict[str, Any]"]
"""Takes a call and its arguments, and gives the answer"""
Printed = tuple[Arguments, str, list[str]]
"""The command line, and what goes to stdout and to stderr"""


class Unanswered(Exception):
    """The full command has to answer."""


def answer(command: str, given: Sequence[str]) -> int | None:
    """The exit code of `search` or `context`; None when the full command has to answer."""
    try:
        ask = _search if command == "search" else _context
        words, text, remarks = ask(given)
    except KeyboardInterrupt:
        return 130
    except Exception:
        # A question changes nothing, so the full command may ask it again and say what is wrong.
        return None
    return quick_start.show(words, text, map(escaped, remarks))


def _search(given: Sequence[str]) -> Printed:
    words = parse(given, (*VALUES, *SEARCH_VALUES), (*FLAGS, "why"))
    filters = _filters(words)
    daemon = _daemon(words)
    is_closed = bool(words.all("channel")) and "private" not in words.options
    users, closed = ((), words.all("user")) if is_closed else (words.all("user"), ())
    scopes = _scopes(words, users) or daemon("scopes", {})["scopes"]
    answer = daemon(
        "search", {**filters, "query": " ".join(words.arguments), "scopes": scopes}
    )
    remarks = [search_text.closed_text(name) for name in closed]
    return words, *_shown(
        words, answer, search_text.hits_text(answer, _unpainted), remarks
    )


def _filters(words: Arguments) -> "dict[str, Any]":
    """The arguments of the JSON contract. Raises Unanswered, and ValueError for a value that is wrong."""
    if not words.arguments:
        raise Unanswered
    filters: dict[str, Any] = {
        name: words.last(name) for name in ("topic", "entity", "mode", "session")
    }
    filters |= {
        name: _day(words.last(name)) for name in ("since", "until") if words.all(name)
    }
    filters |= {"kinds": list(words.all("kind")), "why": "why" in words.options}
    if words.all("limit"):
        filters["limit"] = _number(words.last("limit"), 1, MOST_HITS)
    return {name: value for name, value in filters.items() if value}


def _context(given: Sequence[str]) -> Printed:
    words = parse(given, (*VALUES, *CONTEXT_VALUES), (*FLAGS, "all"))
    options = _context_options(words)
    daemon = _daemon(words)
    scopes = _scopes_of_context(words, daemon)
    answer = daemon(
        "context", {**options, "prompt": " ".join(words.arguments), "scopes": scopes}
    )
    cuts = [] if "json" in words.options else list(search_text.cut_texts(answer))
    return words, *_shown(words, answer, answer["text"], cuts, verbatim=True)


def _context_options(words: Arguments) -> "dict[str, Any]":
    """The arguments of the JSON contract. Raises ValueError for a value that is wrong."""
    if words.options.get("purpose", PURPOSES)[-1] not in PURPOSES:
        raise ValueError(words.last("purpose"))
    names = ("purpose", "session", "confirmation")
    options: dict[str, Any] = {
        name: words.last(name) for name in names if words.all(name)
    }
    if words.all("budget"):
        options["budget"] = _number(words.last("budget"), 0, MOST_CHARS)
    options["private"] = not {"private", "all"}.isdisjoint(words.options)
    return options


def _scopes_of_context(words: Arguments, daemon: Daemon) -> list[str]:
    """The scopes of a prompt. Raises Unanswered when it is not clear who is meant."""
    scopes, everything = _scopes(words, words.all("user")), "all" in words.options
    if not scopes:
        scopes = daemon("scopes", {})["scopes"]
        is_clear = everything or search_text.belong_to_one_person(scopes)
    else:
        is_clear = not everything
    if not is_clear:
        raise Unanswered
    return scopes


def _shown(
    words: Arguments,
    answer: "dict[str, Any]",
    text: str,
    remarks: list[str],
    *,
    verbatim: bool = False,
) -> tuple[str, list[str]]:
    """What goes to stdout and to stderr."""
    if "json" in words.options:
        return f"{json_text(answer)}\n", remarks
    remarks += search_text.freshness_texts(answer["freshness"])
    if verbatim:
        return text if text.endswith("\n") else f"{text}\n", remarks
    return f"{escaped(text)}\n", remarks


def _daemon(words: Arguments) -> Daemon:
    """Asks the daemon that has the settings of this command. Raises Unanswered when there is none."""
    socket = quick_start.socket_of(words) or ""
    if (
        sys.stdout.isatty()
        or quick_start.ask(words, socket, "setup", {}, SECONDS) is None
    ):
        raise Unanswered

    def ask(call: str, arguments: "dict[str, Any]") -> "dict[str, Any]":
        answer: dict[str, Any] = exchange(socket, call, arguments, SECONDS)
        if "error" in answer:
            raise Unanswered
        return answer

    return ask


def _scopes(words: Arguments, users: Sequence[str]) -> list[str]:
    named = (
        ("user", users),
        ("channel", words.all("channel")),
        ("group", words.all("group")),
    )
    return [f"{kind}:{name}" for kind, names in named for name in names]


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
