"""What a conversation of another program is read as: messages of a person and of the bot."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from vault_memory.rules.conversations.turn import LONGEST

Speaker = Literal["user", "assistant"]
Shape = TypeVar("Shape", bound=msgspec.Struct)

BRANCH = "of another branch"
HIDDEN = "hidden"
NO_TIME = "without a time"
NO_WORDS = "without words"
OF_SYSTEM = "of the system"
OF_TOOL = "of a tool"
THOUGHT = "a thought of the bot"
TOO_LONG = "too long"


class Message(NamedTuple):
    """What a person or the bot said once."""

    id: str
    role: Speaker
    text: str
    at: datetime


class Chat(NamedTuple):
    """The messages of a conversation in their order."""

    id: str
    messages: tuple[Message, ...]
    left: Counter[str]
    """number of messages that are left out, by reason"""


def said(id_: str, role: Speaker, text: str, at: datetime | None) -> Message | str:
    """Returns a message, or the reason why it is left out."""
    if not text or not id_:
        return NO_WORDS
    if len(text) > LONGEST:
        return TOO_LONG
    return Message(id_, role, text, at) if at else NO_TIME


class ForeignShape(Exception):
    """A conversation is not as its program writes it."""


def decoded(raw: bytes, shape: type[Shape]) -> Shape:
    """Decodes the JSON of a conversation. Raises ForeignShape."""
    try:
        try:
            return msgspec.json.decode(raw, type=shape)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            # Fault: programs cut a text between the halves of a surrogate pair, which the
            # strict decoder refuses.
            import json

            return msgspec.convert(json.loads(raw), shape)
    except (ValueError, RecursionError) as error:
        raise ForeignShape(str(error)) from None


def time_of(value: object, zone: tzinfo) -> datetime | None:
    """Returns a time in seconds since 1970, or in ISO 8601; None for another value."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, zone)
        return datetime.fromisoformat(str(value)).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return None


def path_to(leaf: str, parent_of: Callable[[str], str | None]) -> list[str]:
    """Returns the messages from the first one to `leaf`, by their ids."""
    path: dict[str, None] = {}
    current: str | None = leaf
    # Fault: the parents of a damaged conversation may lead in a circle.
    while current and current not in path:
        path[current] = None
        current = parent_of(current)
    return list(reversed(path))


def with_attachments(texts: Iterable[object], names: Iterable[object]) -> str:
    """Returns the texts of a message, with a line for each file that was attached to it."""
    lines = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    marks = [f"[attached: {name}]" for name in names]
    return "\n\n".join([*lines, *marks])


def field(value: Any, name: str) -> Any:
    """Returns a field of an object of JSON; None for another value, or without the field."""
    return value.get(name) if isinstance(value, dict) else None
