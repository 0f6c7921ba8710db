"""Commands that start without click, because a host waits for each of their starts.

They ask the daemon of the vault. A command line with anything unusual in it (an unknown option, a
missing name, `--help`, `--verbose`) is left to the full command line, which reports what is
wrong.
"""

import io
import os
import sys
import time
from collections.abc import Collection, Iterable, Sequence

from vault_memory import __version__, places
from vault_memory.addons import table
from vault_memory.api import exchange, vault_memory
from vault_memory.cli import completer, edit_rendering, options, quick_record, root, terminal
from vault_memory.command_line import (
    DAEMON_SECONDS,
    HOOK_FLAGS,
    HOOK_SECONDS,
    HOOK_VALUES,
    LARGEST_PAYLOAD,
    Arguments,
    NotPlain,
    parse,
)
from vault_memory.mcp import stdio
from vault_memory.rules.paths import near_names, scopes

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.paths.scopes import Caller

OPTIONS_BEFORE_COMMAND = ("--vault", "--config", "--now")
"""Options with a value that may precede the name of the command"""

EDIT_SECONDS = 20.0
"""Time for the daemon to apply an op; it waits while an editor saves the note"""
EDIT_VALUES = ("vault", "config", "source", "expected")
EDIT_FLAGS = ("json", "quiet", "merge", "dry-run")
MCP_VALUES = ("vault", "config", "user", "channel", "group", "host")
MCP_FLAGS = ("json", "quiet", "private", "new")
OPS = {
    "append": ("note", "heading", "line"),
    "add-heading": ("note", "heading"),
    "remove": ("note", "heading", "match"),
    "replace": ("note", "heading", "match", "line"),
    "archive": ("note", "heading", "match"),
    "apply": ("note",),
}
"""Command → its arguments"""
READING = frozenset(
    "search context read notes links about facts timeline entity source log history stats".split()
)
"""Commands that only read: the daemon runs them, and returns what they print"""
READ_SECONDS = 10.0
"""Time for the daemon to answer; the full command, which then runs, waits for 20 more"""


def index_of_command(words: Sequence[str]) -> int | None:
    """Return the index of the command's name; None without a command, or for help."""
    if "-h" in words or "--help" in words:
        return None
    numbered = enumerate(words)
    for index, word in numbered:
        if word in OPTIONS_BEFORE_COMMAND:
            next(numbered, None)
        elif not word.startswith("-"):
            return index
    return None


def plain(
    words: Sequence[str], values: Collection[str], flags: Collection[str]
) -> Arguments | None:
    """Parse a command line with these options; None when it contains anything else."""
    try:
        return parse(words, values, flags)
    except NotPlain:
        return None


def complete(words: Sequence[str]) -> int:
    """Answer a shell that asks how a command line may go on."""
    return completer.answer(words)


def answer_hook(words: Sequence[str]) -> int:
    """Run `hook`, through the daemon if one runs. The exit code is always 0."""
    started = time.monotonic()
    payload = moment = None
    patience = DAEMON_SECONDS
    try:
        arguments = plain(words, HOOK_VALUES, HOOK_FLAGS)
        socket = None
        if arguments is not None:
            note_start(arguments, *arguments.arguments[:1])
            socket = socket_of(arguments)
        if arguments is not None and socket is not None:
            payload = sys.stdin.buffer.read(LARGEST_PAYLOAD + 1)
            moment = time.time()
            event = _event(words, payload, moment)
            answer = ask(arguments, socket, "hook", event, patience)
            if answer is not None:
                _write(answer["text"])
                return 0
    except exchange.NotAnswered:
        # Fault: a daemon that hangs would be asked again, and take the rest of the time.
        patience = 0.0
    except BaseException:
        # Any other exit code would stop the bot. The full command logs what is wrong.
        pass
    code: int = table.part("hosts.hook_command").run(
        words,
        seconds=HOOK_SECONDS - (time.monotonic() - started),
        payload=payload,
        moment=moment,
        patience=patience,
    )
    return code


def edit(command: str, words: Sequence[str]) -> int | None:
    """Apply an op through the daemon; None when the full command has to do it."""
    values = (*EDIT_VALUES, "ops") if command == "apply" else EDIT_VALUES
    return _run(
        lambda: parse([_without_marker(word) for word in words], values, EDIT_FLAGS),
        # The daemon may have applied the op before it failed. A second attempt is refused or
        # changes nothing.
        lambda arguments, socket: ask(
            arguments, socket, "apply", _edit_request(command, arguments), EDIT_SECONDS
        ),
        _show_edit,
    )


def read(command: str, words: Sequence[str]) -> int | None:
    """Run a command that only reads in the daemon; None when the full command has to do it."""

    def question(arguments: Arguments, socket: str) -> "Any":
        # Only the full command escapes letters that the output cannot have.
        if not terminal.writes_all_letters():
            return None
        request = {"command": command, "words": arguments.arguments}
        return ask(arguments, socket, "command", request, READ_SECONDS)

    return _run(
        lambda: _without_vault(words),
        question,
        lambda arguments, answer: show(arguments, answer["out"], answer["err"].split("\n")[:-1]),
    )


def _run(
    parsed: "Callable[[], Arguments]",
    answered: "Callable[[Arguments, str], Any]",
    shown: "Callable[[Arguments, Any], int]",
) -> int | None:
    """Ask the daemon, print its answer, and return the exit code; None for the full command."""
    try:
        arguments = parsed()
        # Only the full command paints text, and escapes what would move the cursor of a terminal.
        socket = None if sys.stdout.isatty() else socket_of(arguments)
        answer = answered(arguments, socket) if socket else None
    except KeyboardInterrupt:
        return 130
    except Exception:
        # The full command repeats it, and reports the error.
        return None
    return None if answer is None else shown(arguments, answer)


def _without_vault(words: Sequence[str]) -> Arguments:
    """Return the words of a command, and beside them the options that name its vault.

    Raises NotPlain.
    """
    options: dict[str, tuple[str, ...]] = {}
    others: list[str] = []
    remaining = iter(words)
    for word in remaining:
        name, equals, value = word.partition("=")
        if word in ("--", "--verbose"):
            raise NotPlain(word)
        if name in ("--vault", "--config"):
            options[name[2:]] = (value if equals else next(remaining, ""),)
        else:
            others.append(word)
    return Arguments(others, options)


def record(words: Sequence[str]) -> int | None:
    """Record a turn through the daemon; None when the full command has to do it."""
    return quick_record.record(words)


def _without_marker(word: str) -> str:
    """Remove the marker of a copied list item, `- such`, which would look like an option."""
    if word[:2] in ("- ", "-\t"):
        return word[1:].lstrip(" \t")
    return word


def _edit_request(command: str, arguments: Arguments) -> "dict[str, Any]":
    """Return the request for the daemon. Raises NotPlain, OSError, ValueError."""
    source = arguments.last("source") or "cli"
    if source not in ("cli", "tool") or arguments.options.get("expected") == ("",):
        raise NotPlain(source)
    if command == "apply":
        ops = _ops_of_file(arguments)
    else:
        ops = _op(command, arguments.arguments)
    return {
        "note": arguments.arguments[0],
        "ops": ops,
        "source": source,
        "expected": arguments.last("expected") or None,
        "merge": "merge" in arguments.options,
        "dry_run": "dry-run" in arguments.options,
    }


def _ops_of_file(arguments: Arguments) -> "list[Any]":
    """Read the ops of a JSON file; `-` is standard input.

    Raises OSError, ValueError, and NotPlain when the file holds no list of ops.
    """
    import json

    file = arguments.last("ops")
    if file == "-":
        raw = sys.stdin.buffer.read()
        # The full command must be able to read standard input again.
        sys.stdin = io.TextIOWrapper(io.BytesIO(raw))
    else:
        with open(file, "rb") as stream:
            raw = stream.read()
    payload = json.loads(raw)
    ops = payload.get("ops") if isinstance(payload, dict) else payload
    if not isinstance(ops, list):
        raise NotPlain(file)
    if len(arguments.arguments) != len(OPS["apply"]):
        raise NotPlain(file)
    return ops


def _op(command: str, words: Sequence[str]) -> "list[Any]":
    """Return a list with the op of a command. Raises NotPlain for the wrong number of arguments."""
    names = OPS[command]
    if command == "add-heading":
        if len(words) <= len(names):
            raise NotPlain(command)
        return [{"op": "add_heading", "heading": words[1], "lines": list(words[2:])}]
    if len(words) != len(names):
        raise NotPlain(command)
    op = {"op": command}
    op.update(zip(names[1:], words[1:], strict=True))
    return [op]


def _show_edit(arguments: Arguments, answer: "dict[str, Any]") -> int:
    """Print the report of an edit, as the full command does off a terminal."""
    remarks = []
    if "json" in arguments.options:
        text = terminal.json_text(answer)
    else:
        report = edit_rendering.text_of(answer, lambda text, colour: text)
        text = terminal.escaped(report)
        remark = edit_rendering.remark_of(answer, dry_run="dry-run" in arguments.options)
        if remark:
            remarks.append(terminal.escaped(remark))
    code = show(arguments, f"{text}\n", remarks)
    return code or edit_rendering.exit_code_of_ops(answer)


def show(arguments: Arguments, text: str, remarks: Iterable[str]) -> int:
    """Print an answer to stdout and remarks to stderr, as the full command does off a terminal.

    Returns the exit code: 0 unless the system refuses the output.
    """
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A file name may hold bytes that are not UTF-8.
            sys.stdout.reconfigure(errors="backslashreplace")
        sys.stdout.write(text)
        sys.stdout.flush()
        if "quiet" not in arguments.options and sys.stderr is not None:
            for remark in remarks:
                print(remark, file=sys.stderr, flush=True)
    except OSError as error:
        context = options.Context(json="json" in arguments.options)
        return root.fail_for_system(context, error)
    return 0


def _event(words: Sequence[str], payload: bytes, moment: float) -> "dict[str, Any]":
    automated = os.environ.get("VAULT_MEMORY_AUTOMATED", "").strip().casefold()
    return {
        "arguments": list(words),
        "payload": payload.decode("utf-8"),
        "automated": automated not in ("", "0", "false", "no", "off"),
        "moment": [moment],
    }


def socket_of(arguments: Arguments) -> str | None:
    """Return the path of the daemon's socket; None without a vault or without a daemon."""
    state = _state_of(arguments)
    if state is None:
        return None
    socket = os.path.join(state, places.SOCKET)
    return socket if os.path.exists(socket) else None


def note_start(arguments: Arguments, host: str = "") -> None:
    """Note the time of a start by a host, for `install --check`."""
    state = _state_of(arguments) if host.replace("-", "").isalnum() else None
    if state is None:
        return
    file = os.path.join(state, places.STARTS, host)
    try:
        places.make_private(os.path.dirname(file))
        # The time is that of the file, so that no reader meets half of a text.
        with open(file, "ab"):
            os.utime(file)
    except OSError:
        # A full or read-only disk must not keep the bot from its memory.
        return


def _state_of(arguments: Arguments) -> str | None:
    """Return the state folder of the vault; None without a vault that has one."""
    id_ = _in_marker(arguments, "vault")
    if not id_:
        return None
    state = os.path.join(places.state_root(os.environ), id_)
    return state if os.path.isdir(state) else None


def _in_marker(arguments: Arguments, key: str) -> str:
    """Return a value of the vault's marker; empty without a vault that has one."""
    vault = _vault_of(arguments)
    if not vault:
        return ""
    import json

    try:
        # A marker is short; a longer file is none, and might have no end.
        with open(os.path.join(vault, places.MARKER), "rb") as file:
            return str(json.loads(file.read(places.LONGEST_MARKER)).get(key, ""))
    except (OSError, ValueError, AttributeError):
        # The marker is missing or damaged: the full command reports it.
        return ""


def _vault_of(arguments: Arguments) -> str:
    return arguments.last("vault") or os.environ.get("VAULT_MEMORY_VAULT", "")


def _config_of(arguments: Arguments) -> str:
    return arguments.last("config") or os.environ.get("VAULT_MEMORY_CONFIG", "")


def ask(
    arguments: Arguments, socket: str, call: str, request: "dict[str, Any]", seconds: float
) -> "Any":
    """Ask the daemon, and return its answer; None when it refuses.

    The full command then reports the reason. Raises NotAnswered, OSError.
    """
    # Two paths may lead to the same vault, and the folder may have been replaced since.
    vault = os.stat(_vault_of(arguments))
    config = _config_of(arguments)
    setup = {
        **exchange.setup_of(__version__, os.environ),
        "vault": [vault.st_dev, vault.st_ino],
        "config": os.path.realpath(config) if config else "",
    }
    answer = exchange.exchange(socket, call, {**request, "setup": setup}, seconds)
    # The daemon runs with other settings, or refuses the request.
    if answer is None or "error" in answer:
        return None
    return answer


def _write(text: str) -> None:
    remaining = text.encode("utf-8")
    # A pipe may accept fewer bytes than it is given.
    while remaining:
        remaining = remaining[os.write(1, remaining) :]


def serve_mcp(words: Sequence[str]) -> int | None:
    """Run `mcp`; None when the full command line has to look at the arguments."""
    arguments = plain(words, MCP_VALUES, MCP_FLAGS)
    if arguments is None or arguments.arguments:
        return None
    # The full command warns a person who starts it on a terminal.
    if os.isatty(0):
        return None
    if not _names_a_caller(arguments) or not _names_a_vault(arguments):
        return None
    if "new" not in arguments.options and _is_unclear(arguments):
        return None

    host = arguments.last("host")
    note_start(arguments, host)

    def open_vault() -> "VaultMemory":
        vault = _vault_of(arguments)
        return vault_memory.VaultMemory.open(vault, _config_of(arguments) or None)

    def caller() -> "Caller":
        return scopes.Caller(
            arguments.last("user"),
            arguments.last("channel"),
            arguments.all("group"),
            "private" in arguments.options,
            confirms=True,
        )

    stdio.serve(open_vault, caller, has_hooks=runs_hooks(host))
    return 0


def runs_hooks(host: str) -> bool:
    """Return whether the host of this name runs hooks."""
    programs = host and table.optional_part("hosts.programs")
    return bool(programs and programs.runs_hooks(host))


def _is_unclear(arguments: Arguments) -> bool:
    """Return whether a name has no folder, and another folder has nearly that name, or the owner another."""
    vault = _vault_of(arguments)
    for scope in scopes_without_folder(arguments):
        kind, _, name = scope.partition(":")
        if kind == "user" and _in_marker(arguments, "owner") not in ("", name):
            return True
        try:
            folders = os.listdir(os.path.join(vault, places.FOLDERS[kind]))
        except OSError:
            # Nobody has a folder of that kind.
            continue
        if near_names.near_names(name, folders):
            return True
    return False


def scopes_without_folder(arguments: Arguments) -> list[str]:
    """Return the scopes that the options name and that have no folder in the vault."""
    vault = _vault_of(arguments)
    return [
        f"{kind}:{name}"
        for kind, folder in places.FOLDERS.items()
        for name in arguments.all(kind)
        if name and not os.path.isdir(os.path.join(vault, folder, name))
    ]


def _names_a_caller(arguments: Arguments) -> bool:
    """Return whether a person is named, and all names are UTF-8."""
    user = arguments.last("user")
    # A name may hold bytes that are not UTF-8.
    names = (user, arguments.last("channel"), *arguments.all("group"))
    return bool(user) and not any("\ud800" <= letter <= "\udfff" for letter in "".join(names))


def _names_a_vault(arguments: Arguments) -> bool:
    """Return whether a vault is named that exists, with the named configuration."""
    vault = _vault_of(arguments)
    config = _config_of(arguments)
    if not vault or not os.path.isfile(os.path.join(vault, places.MARKER)):
        return False
    return not config or os.path.isfile(config)
