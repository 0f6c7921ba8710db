"""What Nextcloud Talk tells a bot, as its documentation has it: Activity Streams with the message as JSON inside."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from vault_memory.talk.recorder import Actor, Reacted, Said

MESSAGE = ("message", "")
"""Names of what people write; until Talk 23 messages with a file had none. All others are of the system"""
_NUMBER = re.compile(r"[0-9]{1,18}")
_TOKEN = re.compile(r"[A-Za-z0-9]{2,64}")
_PLACE = re.compile(r"\{([^{}\s]+)\}")


class Garbled(ValueError):
    """It is signed, and yet none of the things that Talk sends."""


def read_event(body: bytes) -> Said | Reacted | None:
    """What happened; None for what is of no concern, such as a bot that joins. Raises Garbled."""
    try:
        event = json.loads(body)
        kind = event["type"]
        if kind == "Create" and event["object"].get("name", "") in MESSAGE:
            return _said(event)
        if kind == "Like":
            room, number = _place(event)
            return Reacted(
                room, number, _actor(event["actor"]), _text(event["content"])
            )
        if not isinstance(kind, str):
            _garbled()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Garbled(f"{type(error).__name__}: {error}") from None
    return None


def _said(event: Mapping[str, Any]) -> Said | None:
    room, number = _place(event)
    content = json.loads(event["object"]["content"])
    text = rendered(_text(content["message"]), content.get("parameters") or {})
    return Said(room, number, _actor(event["actor"]), text) if text.strip() else None


def _place(event: Mapping[str, Any]) -> tuple[str, int]:
    """The room and the number of the message."""
    room, number = event["target"]["id"], str(event["object"]["id"])
    if not _TOKEN.fullmatch(room) or not _NUMBER.fullmatch(number):
        _garbled()
    return room, int(number)


def _actor(said: Mapping[str, Any]) -> Actor:
    kind, _, id_ = _text(said["id"]).partition("/")
    if not kind:
        _garbled()
    return Actor(kind, id_, _text(said.get("name") or ""))


def rendered(message: str, parameters: Mapping[str, Any]) -> str:
    """The message as people see it: names for what is mentioned, and of files that come with it."""

    def shown(found: re.Match[str]) -> str:
        name = (
            _name(parameters.get(found[1])) if isinstance(parameters, Mapping) else ""
        )
        return (
            f"@{name}" if name and found[1].startswith("mention-") else name or found[0]
        )

    text = _PLACE.sub(shown, message)
    named = set(_PLACE.findall(message))
    rest = parameters.items() if isinstance(parameters, Mapping) else ()
    files = [_name(one) for key, one in rest if key not in named and _is_file(one)]
    return " ".join([text, *(f"[{name}]" for name in files if name)]).strip()


def _is_file(parameter: object) -> bool:
    return isinstance(parameter, Mapping) and parameter.get("type") == "file"


def _name(parameter: object) -> str:
    name = parameter.get("name") if isinstance(parameter, Mapping) else ""
    return " ".join(name.split()) if isinstance(name, str) else ""


def _text(said: object) -> str:
    """Half a letter cannot be written to a file."""
    if not isinstance(said, str):
        _garbled()
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _garbled() -> NoReturn:
    raise Garbled("it is not as the documentation of Talk has it")
