"""Commands that start without click, since a host waits for each of their starts.

A command line that is not plain (an unknown option, a missing name, `--help`, `--verbose`) is left
to the full command line, which says what is wrong with it.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vault_memory.app import VaultMemory
    from vault_memory.app.callers import Caller

MARKER = ".vault-memory"
BEFORE_COMMAND = ("--vault", "--config", "--now")
"""Options with a value that may stand before the name of the command"""


class Words(NamedTuple):
    """A command line, understood."""

    arguments: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    """by name, without the dashes; a flag has no values"""

    def last(self, name: str) -> str:
        """The value of an option; empty when it is not there. Of several, the last counts."""
        return (self.options.get(name) or ("",))[-1]


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


def understand(given: Sequence[str], values: Collection[str], flags: Collection[str]) -> Words | None:
    """The words of a command line that has only these options; None when anything else is in it."""
    arguments: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    words = iter(given)
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("-"):
            arguments.append(word)
        elif not word.startswith("--"):
            return None
        elif name in values:
            following = value if equals else next(words, None)
            if following is None:
                return None
            options[name] = (*options.get(name, ()), following)
        elif name in flags and not equals:
            options[name] = ()
        else:
            return None
    return Words(tuple(arguments), options)


def serve_mcp(given: Sequence[str]) -> int | None:
    """`mcp`; None when the full command line has to look at it."""
    words = understand(given, ("vault", "config", "user", "channel", "group"), ("json", "quiet", "private"))
    if words is None or words.arguments or os.isatty(0):
        return None
    vault = words.last("vault") or os.environ.get("VAULT_MEMORY_VAULT", "")
    names = (words.last("user"), words.last("channel"), *words.options.get("group", ()))
    if not vault or not names[0] or any(_is_broken(name) for name in names):
        return None
    config = words.last("config") or os.environ.get("VAULT_MEMORY_CONFIG", "")
    if not os.path.isfile(os.path.join(vault, MARKER)) or (config and not os.path.isfile(config)):
        return None

    def open_vault() -> "VaultMemory":
        from vault_memory.app import VaultMemory

        return VaultMemory.open(vault, config or None)

    def caller() -> "Caller":
        from vault_memory.app.callers import Caller

        return Caller(names[0], names[1], names[2:], "private" in words.options)

    from vault_memory.mcp import serve

    serve(open_vault, caller)
    return 0


def _is_broken(name: str) -> bool:
    """Whether a name holds bytes that are not UTF-8."""
    return any("\ud800" <= letter <= "\udfff" for letter in name)
