"""Commands that the page shows for copying, quoted for a shell."""

import shlex
from collections.abc import Iterable, Iterator

OPTIONS = {"user": "--user", "channel": "--channel", "group": "--group"}
"""Kind of a scope → the option that names it"""


def shell_command(*words: str) -> str:
    """Returns a command of the program with these arguments."""
    return shlex.join(["vault-memory", *words])


def scope_options(scopes: Iterable[str]) -> Iterator[str]:
    """Yields the options that name these scopes."""
    for scope in scopes:
        kind, _, name = scope.partition(":")
        # Fault: a name that begins with a dash would be read as another option.
        yield f"{OPTIONS[kind]}={name}" if name.startswith("-") else OPTIONS[kind]
        if not name.startswith("-"):
            yield name


def forget_command(text: str, scope: str) -> str:
    """Returns the command that removes a text of a scope from everything; it asks first."""
    return shell_command("forget", *scope_options([scope]), "--", text)
