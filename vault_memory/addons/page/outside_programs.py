"""What the page knows of programs outside that ask for a memory, and of those that have it."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

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


class ConnectionRow(NamedTuple):
    """A program that was let in."""

    id: str
    name: str
    place: str
    user: str
    since: float
    used: float


class QuestionGone(NotHere):
    """The question of a program is answered, or too old."""

    def __init__(self) -> None:
        super().__init__(
            "this question is answered, or too old", hint="connect again in the program that asked"
        )


class ConnectedPrograms:
    """The connections with the memory of some people; of everybody without names."""

    def __init__(self, state: Path, users: Collection[str] | None) -> None:
        self._users = users
        self._folder = state

    def rows(self) -> Sequence[ConnectionRow]:
        """Returns the connections, the newest first."""
        grants = self._grants()
        if grants is None:
            return []
        return [
            ConnectionRow(
                grant.id,
                grant.program.name,
                grant.program.place,
                grant.address.user,
                grant.since,
                grant.used,
            )
            for grant in grants.all(self._users)
        ]

    def end(self, connection_id: str) -> str:
        """Ends a connection. Returns the name of the program. Raises NotHere."""
        grants = self._grants()
        ended = grants and grants.end(connection_id, self._users)
        if not ended:
            raise NotHere("this connection has ended already", hint="look at the list again")
        return cast("str", ended.program.name)

    def _grants(self) -> Any:
        """The connections in the state folder; None without the add-on."""
        module = table.optional_part("connector.grants")
        return module and module.Grants(self._folder)
