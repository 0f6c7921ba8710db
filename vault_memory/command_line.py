"""Parses a command line without click, and names what a hook takes. Loads nothing that takes time."""

from collections.abc import Collection, Mapping, Sequence

HOOK_VALUES = ("vault", "config", "user", "channel", "group", "now")
"""Options of `hook` that take a value"""
HOOK_FLAGS = ("json", "quiet", "verbose", "private", "projects")
HOOK_SECONDS = 5.0
DAEMON_SECONDS = 0.5
"""How long a hook waits for a daemon. One that hangs must not cost a prompt more than a second."""
LARGEST_PAYLOAD = 8 << 20
"""Bytes of an event of a host; a longer one is not read"""


class NotPlain(Exception):
    """The command line has an option that is unknown, or has no value, or has one too many."""


class Arguments:
    """A parsed command line. Options stand by name, without the dashes; a flag has no values."""

    def __init__(self, arguments: Sequence[str], options: Mapping[str, tuple[str, ...]]) -> None:
        self.arguments = arguments
        self.options = options

    def last(self, name: str) -> str:
        """The value of an option; empty when it is not there. Of several, the last counts."""
        return ("", *self.all(name))[-1]

    def all(self, name: str) -> tuple[str, ...]:
        return self.options.get(name, ())


def parse(given: Sequence[str], values: Collection[str], flags: Collection[str]) -> Arguments:
    """The arguments and options of a command line; only these options may stand in it.

    Raises NotPlain.
    """
    arguments: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    words = iter(given)
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("-"):
            arguments.append(word)
        elif word.startswith("--") and name in values:
            following = value if equals else next(words, None)
            if following is None:
                raise NotPlain(f"`{word}` needs a value")
            options[name] = (*options.get(name, ()), following)
        elif word.startswith("--") and name in flags:
            if equals:
                raise NotPlain(f"`--{name}` takes no value")
            options[name] = ()
        else:
            raise NotPlain(f"the command knows no option `{word}`")
    return Arguments(arguments, options)
