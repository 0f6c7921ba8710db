"""Parses events that Nextcloud Talk sends to a bot: Activity Streams with JSON messages inside."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from vault_memory.addons.talk.recorder import Actor, Reacted, Said

MESSAGE = ("message", "")
"""Names of messages of people: before Talk 23 those with a file had none. The system has others."""
_NUMBER = re.compile(r"[0-9]{1,18}")
_TOKEN = re.compile(r"[A-Za-z0-9]{2,64}")
_PLACE = re.compile(r"\{([^{}\s]+)\}")


class Garbled(ValueError):
    """The event has a valid signature, but no form that Talk documents."""


def read_event(body: bytes) -> Said | Reacted | None:
    """Parses an event; None for one without content, such as a bot that joins. Raises Garbled."""
    # A server of another version may send other fields: each surprise counts as garbled.
    try:
        return _read_event(json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Garbled(f"{type(error).__name__}: {error}") from None


def _read_event(event: Mapping[str, Any]) -> Said | Reacted | None:
    kind = event["type"]
    if not isinstance(kind, str):
        _reject()
    match kind:
        case "Create" if event["object"].get("name", "") in MESSAGE:
            return _message(event)
        case "Like":
            return _reaction(event)
        case _:
            return None


def _reaction(event: Mapping[str, Any]) -> Reacted:
    room, number = _place(event)
    actor = _actor(event["actor"])
    return Reacted(room, number, actor, emoji=_text(event["content"]))


def _message(event: Mapping[str, Any]) -> Said | None:
    room, number = _place(event)
    content = json.loads(event["object"]["content"])
    message = _text(content["message"])
    parameters = content.get("parameters") or {}
    text = rendered(message, parameters)
    if not text.strip():
        return None
    return Said(room, number, _actor(event["actor"]), text)


def _place(event: Mapping[str, Any]) -> tuple[str, int]:
    """Returns the token of the room and the number of the message."""
    room = event["target"]["id"]
    number = str(event["object"]["id"])
    if not _TOKEN.fullmatch(room) or not _NUMBER.fullmatch(number):
        _reject()
    return room, int(number)


def _actor(value: Mapping[str, Any]) -> Actor:
    kind, _, id_ = _text(value["id"]).partition("/")
    if not kind:
        _reject()
    return Actor(kind, id_, _text(value.get("name") or ""))


def rendered(message: str, parameters: object) -> str:
    """Returns the message as people see it: with names for mentions and attached files."""
    if not isinstance(parameters, Mapping):
        # The server may send a list in place of an object.
        parameters = {}
    mentioned = set(_PLACE.findall(message))
    names = {key: _name(parameter) for key, parameter in parameters.items()}
    text = _PLACE.sub(lambda place: _mention(place, names), message)
    files = [
        names[key]
        for key, parameter in parameters.items()
        if key not in mentioned and _is_file(parameter)
    ]
    labels = [f"[{name}]" for name in files if name]
    return " ".join([text, *labels]).strip()


def _mention(place: re.Match[str], names: Mapping[str, str]) -> str:
    """Returns the name for a place in a message; a place without a name stays as it is."""
    key = place[1]
    name = names.get(key, "")
    if not name:
        return place[0]
    if key.startswith("mention-"):
        return f"@{name}"
    return name


def _is_file(parameter: object) -> bool:
    return isinstance(parameter, Mapping) and parameter.get("type") == "file"


def _name(parameter: object) -> str:
    name = parameter.get("name") if isinstance(parameter, Mapping) else ""
    if not isinstance(name, str):
        return ""
    return " ".join(name.split())


def _text(value: object) -> str:
    if not isinstance(value, str):
        _reject()
    # A surrogate without its partner cannot be written to a file.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _reject() -> NoReturn:
    raise Garbled("it is not as the documentation of Talk has it")
