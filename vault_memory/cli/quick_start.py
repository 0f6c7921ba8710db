"""Commands that start without click, since a host waits for each of their starts.

A command line that is not plain (an unknown option, a missing name, `--help`, `--verbose`) is left
to the full command line, which says what is wrong with it.
"""

import io
import os
import sys
import time
from collections.abc import Collection, Iterable, Sequence

from vault_memory.command_line import (
    END_SECONDS,
    HOOK_FLAGS,
    HOOK_SECONDS,
    HOOK_VALUES,
    LARGEST_PAYLOAD,
    Arguments,
    NotPlain,
    parse,
)
from vault_memory.lazy import lazy_module

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from typing import Any

    from vault_memory import places
    from vault_memory.api import vault_memory
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli import edit_rendering, options, root, terminal
    from vault_memory.daemon import exchange
    from vault_memory.hosts import hook_command
    from vault_memory.mcp import stdio
    from vault_memory.rules.paths import caller as paths_caller
    from vault_memory.rules.paths.caller import Caller
else:
    vault_memory = lazy_module("vault_memory.api.vault_memory")
    edit_rendering = lazy_module("vault_memory.cli.edit_rendering")
    options = lazy_module("vault_memory.cli.options")
    root = lazy_module("vault_memory.cli.root")
    terminal = lazy_module("vault_memory.cli.terminal")
    exchange = lazy_module("vault_memory.daemon.exchange")
    hook_command = lazy_module("vault_memory.hosts.hook_command")
    stdio = lazy_module("vault_memory.mcp.stdio")
    places = lazy_module("vault_memory.places")
    paths_caller = lazy_module("vault_memory.rules.paths.caller")

BEFORE_COMMAND = ("--vault", "--config", "--now")
"""Options with a value that may stand before the name of the command"""

EDIT_SECONDS = 20.0
"""For the daemon to carry out an op; it waits for a note that is being saved"""
EDIT_FLAGS = ("json", "quiet", "merge", "dry-run")
OPS = {
    "append": ("note", "heading", "line"),
    "add-heading": ("note", "heading"),
    "remove": ("note", "heading", "match"),
    "replace": ("note", "heading", "match", "line"),
    "apply": ("note",),
}
"""The arguments of each command"""


def place_of_command(given: Sequence[str]) -> int | None:
    """Where the name of the command stands; None when there is none, or help is asked for."""
    if "-h" in given or "--help" in given:
        return None
    words = enumerate(given)
    for number, word in words:
        if word in BEFORE_COMMAND:
            next(words, None)
        elif not word.startswith("-"):
            return number
    return None


def plain(
    given: Sequence[str], values: Collection[str], flags: Collection[str]
) -> Arguments | None:
    """The words of a command line that has only these options; None when anything else is in it."""
    try:
        return parse(given, values, flags)
    except NotPlain:
        return None


def answer_hook(given: Sequence[str]) -> int:
    """`hook`: through the daemon where one runs, else by itself. The exit code is always 0."""
    started = time.monotonic()
    limit = HOOK_SECONDS
    payload = moment = None
    try:
        words = plain(given, HOOK_VALUES, HOOK_FLAGS)
        socket = None if words is None else socket_of(words)
        if words is not None and socket is not None:
            payload = sys.stdin.buffer.read(LARGEST_PAYLOAD + 1)
            moment = (time.time(), int.from_bytes(os.urandom(4), "big") >> 2)
            if b'"SessionEnd"' in payload:
                limit = END_SECONDS
            seconds = limit / 2  # the other half is for an answer without the daemon
            answer = ask(words, socket, "hook", _event(given, payload, moment), seconds)
            if answer is not None:
                _write(answer["text"])
                return 0
    except BaseException:
        # whatever it was: another exit code would stop the bot, and the full command says what is wrong
        pass
    return hook_command.run(
        given,
        seconds=limit - (time.monotonic() - started),
        payload=payload,
        moment=moment,
    )


def edit(command: str, given: Sequence[str]) -> int | None:
    """An op by hand, through the daemon; None when the full command has to carry it out."""
    # a line copied with its marker, `- such`, is an argument and no option
    rest = [
        word[1:].lstrip(" \t") if word[:2] in ("- ", "-\t") else word for word in given
    ]
    values = (
        "vault",
        "config",
        "source",
        "expected",
        *(("ops",) if command == "apply" else ()),
    )
    try:
        words = parse(rest, values, EDIT_FLAGS)
        socket = "" if sys.stdout.isatty() else socket_of(words)
        answer = (
            ask(words, socket, "apply", _edit_request(command, words), EDIT_SECONDS)
            if socket
            else None
        )
    except KeyboardInterrupt:
        return 130
    except Exception:
        return None  # done twice, an op is refused or changes nothing
    return (
        None
        if answer is None
        else _show_edit(words, answer, dry_run="dry-run" in words.options)
    )


def _edit_request(command: str, words: Arguments) -> "dict[str, Any]":
    """What the daemon is asked to do. Raises NotPlain when the full command has to look at it."""
    source = words.last("source") or "cli"
    if source not in ("cli", "tool") or words.options.get("expected") == ("",):
        raise NotPlain(source)
    return {
        "note": words.arguments[0],
        "ops": _ops_of_file(words)
        if command == "apply"
        else _op(command, words.arguments),
        "source": source,
        "expected": words.last("expected") or None,
        "merge": "merge" in words.options,
        "dry_run": "dry-run" in words.options,
    }


def _ops_of_file(words: Arguments) -> "list[Any]":
    """The ops in a JSON file, `-` being standard input. Raises OSError, ValueError, and NotPlain for no list."""
    import json

    file = words.last("ops")
    if file == "-":
        raw = sys.stdin.buffer.read()
        sys.stdin = io.TextIOWrapper(
            io.BytesIO(raw)
        )  # the full command reads it again when it has to answer
    else:
        with open(file, "rb") as opened:
            raw = opened.read()
    payload = json.loads(raw)
    ops = payload.get("ops") if isinstance(payload, dict) else payload
    if not isinstance(ops, list) or len(words.arguments) != len(OPS["apply"]):
        raise NotPlain(file)
    return ops


def _op(command: str, arguments: Sequence[str]) -> "list[Any]":
    """The op of a command, alone in a list. Raises NotPlain for the wrong number of arguments."""
    names = OPS[command]
    if command == "add-heading" and len(arguments) > len(names):
        return [
            {"op": "add_heading", "heading": arguments[1], "lines": list(arguments[2:])}
        ]
    if command == "add-heading" or len(arguments) != len(names):
        raise NotPlain(command)
    return [{"op": command, **dict(zip(names[1:], arguments[1:], strict=True))}]


def _show_edit(words: Arguments, answer: "dict[str, Any]", *, dry_run: bool) -> int:
    """Print what an edit did, as the full command does off a terminal."""
    if "json" in words.options:
        text, remark = terminal.json_text(answer), ""
    else:
        text = terminal.escaped(
            edit_rendering.text_of(answer, lambda text, colour: text)
        )
        remark = edit_rendering.remark_of(answer, dry_run=dry_run)
    code = show(words, f"{text}\n", [terminal.escaped(remark)] if remark else [])
    return code or edit_rendering.exit_code_of(answer)


def show(words: Arguments, text: str, remarks: Iterable[str]) -> int:
    """Print an answer to stdout and remarks to stderr, as the full command does off a terminal.

    Returns 0, or the exit code of what the system refused.
    """
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(
                errors="backslashreplace"
            )  # a name need not be UTF-8
        sys.stdout.write(text)
        sys.stdout.flush()
        if "quiet" not in words.options and sys.stderr is not None:
            for remark in remarks:
                print(remark, file=sys.stderr, flush=True)
    except OSError as error:
        return root.fail_for_system(
            options.Context(json="json" in words.options), error
        )
    return 0


def _event(
    given: Sequence[str], payload: bytes, moment: tuple[float, int]
) -> "dict[str, Any]":
    automated = os.environ.get("VAULT_MEMORY_AUTOMATED", "").strip().casefold()
    return {
        "arguments": list(given),
        "payload": payload.decode("utf-8"),
        "automated": automated not in ("", "0", "false", "no", "off"),
        "moment": moment,
    }


def socket_of(words: Arguments) -> str | None:
    """Where the daemon of the vault would listen; None when that cannot be told, or nothing is there."""
    vault = words.last("vault") or os.environ.get("VAULT_MEMORY_VAULT", "")
    if not vault:
        return None
    import json

    try:
        with open(os.path.join(vault, places.MARKER), "rb") as file:
            id_ = json.loads(file.read(4096))["vault"]
        socket = os.path.join(places.state_root(os.environ), str(id_), places.SOCKET)
        return socket if os.path.exists(socket) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ask(
    words: Arguments,
    socket: str,
    call: str,
    arguments: "dict[str, Any]",
    seconds: float,
) -> "Any":
    """What the daemon answers; None when it refuses, since the full command then says why.

    Raises NotAnswered.
    """
    vault = os.stat(words.last("vault") or os.environ["VAULT_MEMORY_VAULT"])
    config = words.last("config") or os.environ.get("VAULT_MEMORY_CONFIG", "")
    setup = {
        **exchange.setup_of(os.environ),
        "vault": [vault.st_dev, vault.st_ino],
        "config": os.path.realpath(config) if config else "",
    }
    answer = exchange.exchange(socket, call, {**arguments, "setup": setup}, seconds)
    return None if answer is None or "error" in answer else answer


def _write(text: str) -> None:
    raw = text.encode("utf-8")
    while raw:
        raw = raw[os.write(1, raw) :]


def serve_mcp(given: Sequence[str]) -> int | None:
    """`mcp`; None when the full command line has to look at it."""
    words = plain(
        given,
        ("vault", "config", "user", "channel", "group"),
        ("json", "quiet", "private"),
    )
    if words is None or words.arguments or os.isatty(0):
        return None
    vault = words.last("vault") or os.environ.get("VAULT_MEMORY_VAULT", "")
    names = (words.last("user"), words.last("channel"), *words.all("group"))
    if not vault or not names[0] or any(_is_broken(name) for name in names):
        return None
    config = words.last("config") or os.environ.get("VAULT_MEMORY_CONFIG", "")
    if not os.path.isfile(os.path.join(vault, places.MARKER)) or (
        config and not os.path.isfile(config)
    ):
        return None

    def open_vault() -> "VaultMemory":
        return vault_memory.VaultMemory.open(vault, config or None)

    def caller() -> "Caller":
        return paths_caller.Caller(
            names[0], names[1], names[2:], "private" in words.options
        )

    stdio.serve(open_vault, caller)
    return 0


def _is_broken(name: str) -> bool:
    """Whether a name holds bytes that are not UTF-8."""
    return any("\ud800" <= letter <= "\udfff" for letter in name)
