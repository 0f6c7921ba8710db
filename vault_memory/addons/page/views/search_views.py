"""Search and prompt: the lines that answer a question, and the block that a bot gets for it."""

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import msgspec

from vault_memory.addons.page.note_html.hidden_letters import Exact, visible
from vault_memory.addons.page.page_answers import NotHere, PageView
from vault_memory.addons.page.viewer import Viewer
from vault_memory.context.calls import PURPOSES, ContextOptions
from vault_memory.contract import Purpose, SearchedKind, introductions
from vault_memory.errors import UsageError
from vault_memory.rules.paths.scopes import Caller
from vault_memory.search.calls import SearchOptions

if TYPE_CHECKING:
    from vault_memory.contract.answers import ContextBlockJson


MOST_HITS = 30


class SearchFields(msgspec.Struct):
    """The fields of `/search`."""

    q: str = ""
    kind: str = ""
    since: str = ""
    until: str = ""
    entity: str = ""


def show_search(viewer: Viewer, query: SearchFields) -> PageView:
    data: dict[str, Any] = {"query": query, "kinds": get_args(SearchedKind), "answer": None}
    if query.q.strip():
        answer = viewer.search(query.q, _search_options(query))
        data |= {"answer": answer, "introductions": introductions(answer)}
    return PageView("search.html", "Search", data)


def _search_options(query: SearchFields) -> SearchOptions:
    return SearchOptions(
        limit=MOST_HITS,
        kinds=(query.kind,) if query.kind else (),
        since=query.since or None,
        until=query.until or None,
        entity=query.entity or None,
        why=True,
    )


class PromptFields(msgspec.Struct):
    """The fields of `/prompt`."""

    prompt: str = ""
    user: str = ""
    channel: str = ""
    purpose: Purpose = "chat"
    budget: str = ""
    session: str = ""
    automatic: bool = False
    """as a hook asks"""


class Room(NamedTuple):
    """Where the answer is read: a private talk, or a channel."""

    key: str
    title: str
    remark: str
    scopes: tuple[str, ...]


class RoomBlock(NamedTuple):
    """What a bot gets in a room."""

    room: Room
    answer: "ContextBlockJson"
    text: Exact
    marked: str
    """the text with marks for hidden characters; empty when it has none"""
    command: str
    """the command that prints the same text; empty when there is none"""


def show_prompt(viewer: Viewer, query: PromptFields) -> PageView:
    people = viewer.names("user")
    channels = viewer.names("channel")
    user = _chosen(query.user, people) or _first_person(viewer, people)
    channel = _chosen(query.channel, channels)
    options = _options(query)
    rooms = _rooms(viewer, user, channel)
    data = {
        "query": query,
        "people": people,
        "channels": channels,
        "user": user,
        "channel": channel,
        "purposes": PURPOSES,
        "budget": viewer.block_budget() if options["budget"] is None else options["budget"],
        "blocks": [_block(viewer, query, options, room) for room in rooms],
    }
    return PageView("prompt.html", "Prompt", data)


def _chosen(name: str, names: list[str]) -> str:
    """Returns a name of the form. Raises NotHere for a name that the session does not see."""
    # Fault: without this check, a channel of others would be left out, and the block
    # would be that of a private talk.
    if name and name not in names:
        raise NotHere(f"there are no notes of {name!r}", hint="choose a name of the list")
    return name


def _first_person(viewer: Viewer, people: list[str]) -> str:
    """Returns the owner of the vault, else the first person, else an empty text."""
    owner = viewer.owner()
    if owner in people:
        return owner
    return people[0] if people else ""


def _options(query: PromptFields) -> ContextOptions:
    return ContextOptions(
        purpose=query.purpose,
        budget=_budget(query.budget.strip()),
        session=query.session.strip() or None,
        automatic=query.automatic,
    )


def _budget(text: str) -> int | None:
    if not text:
        return None
    # Fault: `isdecimal` alone is true for digits of other scripts, and `int` refuses
    # thousands of digits.
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(
            "a budget is a number of characters",
            hint="write a number such as 8000; 0 sets no limit",
        )
    return int(text)


def _rooms(viewer: Viewer, user: str, channel: str) -> list[Room]:
    rooms = []
    if user:
        scopes = viewer.readable_by(Caller(user))
        remark = f"only {user} reads the answer"
        rooms.append(Room("private", f"Private talk with {user}", remark, scopes))
    if channel:
        # A channel needs no person: all its members get the same block.
        scopes = viewer.readable_by(Caller(user or channel, channel))
        remark = "everybody in the channel reads the answer"
        if user:
            remark += f", so what is {user}'s own stays out"
        rooms.append(Room("channel", f"In channel {channel}", remark, scopes))
    return rooms


def _block(viewer: Viewer, query: PromptFields, options: ContextOptions, room: Room) -> RoomBlock:
    answer = viewer.context(query.prompt, room.scopes, options)
    text = answer["text"]
    # Fault: letters that turn a line around would hide what a note tells the bot.
    marked = str(visible(text))
    return RoomBlock(
        room, answer, Exact(text), "" if marked == text else marked, _command(query, options, room)
    )


def _command(query: PromptFields, options: ContextOptions, room: Room) -> str:
    """Returns the command that prints this block; a hook's request has none."""
    if options["automatic"]:
        return ""
    words = list(scope_options(room.scopes))
    if options["purpose"] != "chat":
        words += ["--purpose", options["purpose"]]
    if options["budget"] is not None:
        words += ["--budget", str(options["budget"])]
    if options["session"]:
        words += ["--session", options["session"]]
    if query.prompt:
        words += ["--", query.prompt]
    return shell_command("context", *words)


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
