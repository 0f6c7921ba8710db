"""What the page knows of programs outside that ask for a memory, and of those that have it."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Protocol

from starlette.types import ASGIApp

from vault_memory.addons import table
from vault_memory.addons.page.page_answers import NotHere


class Program(Protocol):
    """A program that asks, or that was let in."""

    name: str
    place: str


class ProgramGate(Protocol):
    """Lets programs in after a person has said yes."""

    def program_of(self, key: str) -> Program | None:
        """Returns the program that asks; None for a question that is answered, or too old."""

    def allow(self, key: str, user: str) -> str | None:
        """Lets a program in to the memory of a person. Returns where the browser goes."""

    def refuse(self, key: str) -> str | None:
        """Does not let a program in. Returns where the browser goes."""


class PublicGate(ProgramGate, Protocol):
    """A gate, and where others reach it and the page."""

    url: str
    host: str

    def around(self, calls: ASGIApp) -> ASGIApp:
        """Returns the calls for bots, of which the tokens of programs open MCP alone."""


class QuestionGone(NotHere):
    """The question of a program is answered, or too old."""

    def __init__(self) -> None:
        super().__init__(
            "this question is answered, or too old", hint="connect again in the program that asked"
        )


class ConnectedPrograms:
    """The connections with the memory of some people; of everybody without names."""

    def __init__(self, state: Path, users: Collection[str] | None) -> None:
        module = table.optional_part("connector.grants")
        self._grants: Any = module and module.Grants(state)
        """None without the add-on"""
        self._users = users

    def all(self) -> Sequence[Any]:
        """Returns the connections, the newest first."""
        return self._grants.all(self._users) if self._grants else []

    def end(self, connection_id: str) -> None:
        """Ends a connection. Raises NotHere."""
        if not self._grants or not self._grants.end(connection_id, self._users):
            raise NotHere("this connection has ended already", hint="look at the list again")
