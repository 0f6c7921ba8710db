"""Reads the payload of a hook, one JSON object on standard input, into an event.

Hosts name their events and fields differently; `Host.events` and `Host.common_payload` translate.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.addons.hosts.host import EventKind, Host
from vault_memory.command_line import LARGEST_PAYLOAD
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

MOST_NAME_CHARACTERS = 200

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(\s|$)")
_NOT_TYPED = (
    "<task-notification",
    "<command-",
    "<local-command-",
    "<system-reminder",
    "<bash-",
    "<teammate-message",
)
"""How texts begin that a host sends in the person's name"""


class NotAnEvent(UsageError):
    """Standard input has no event of this host."""


class Event(NamedTuple):
    """One moment of a conversation."""

    kind: EventKind
    name: str
    """As the host has it, which the answer repeats"""
    session: str
    prompt: str = ""
    reply: str = ""
    summary: str = ""
    """Of the conversation so far, where the host sends one with the event"""
    transcript: str = ""
    """The host's file with the conversation so far; empty when the payload names none"""
    turn: str = ""
    """The host's own id of a prompt and its answer; empty when the payload names none"""
    folder: str = ""
    """Where the host works; empty when the payload names none"""
    is_silent: bool = False
    """Said by a subagent, by a scheduled job, or without words: nothing is recorded"""
    is_automated: bool = False
    """Said by a job in the person's name: it is recorded, and nothing is learned from it"""


def read_event(host: Host, raw: bytes) -> Event:
    """Return the event in a payload. Raises NotAnEvent."""
    payload = host.common_payload(_read_object(raw))
    name = _text(payload, "hook_event_name")
    kind = host.events.get(name)
    if kind is None:
        short_name = name[:MOST_NAME_CHARACTERS]
        raise NotAnEvent(f"{short_name!r} is no event of a conversation")
    session = _text(payload, "session_id")
    if not session or len(session) > MOST_NAME_CHARACTERS:
        raise NotAnEvent("`session_id` names no session")
    prompt = _text(payload, "prompt")
    is_of_subagent = bool(payload.get("silent") or payload.get("agent_id"))
    return Event(
        kind=kind,
        name=name,
        session=session,
        prompt=prompt,
        reply=_first_text(payload, "reply", "last_assistant_message"),
        summary=_first_text(payload, "summary", "compact_summary"),
        transcript=_text(payload, "transcript_path"),
        turn=_first_text(payload, "prompt_id", "turn_id"),
        folder=_text(payload, "cwd"),
        is_silent=is_of_subagent or (kind == "prompt" and not is_typed(prompt)),
        is_automated=bool(payload.get("automated")),
    )


def is_typed(prompt: str) -> bool:
    """Whether a person said this: it is neither a command to the host nor a message of the host."""
    text = prompt.strip()
    return bool(text) and not _COMMAND.match(text) and not text.startswith(_NOT_TYPED)


def whole_characters(text: str) -> str:
    """Return the text with halves of characters replaced: no file in UTF-8 can hold them."""
    # Fault: a host that cuts a text may cut an emoji in half, and the transcript could
    # not be written.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_object(raw: bytes) -> Mapping[str, Any]:
    # Fault: half of a payload is no JSON, and a huge one would take the time that the
    # host waits.
    if len(raw) > LARGEST_PAYLOAD:
        raise NotAnEvent(f"more than {LARGEST_PAYLOAD:,} bytes came on standard input")
    try:
        payload = json.loads(raw.removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        raise NotAnEvent("what came on standard input is no JSON") from None
    if not isinstance(payload, dict):
        raise NotAnEvent("what came on standard input is no JSON object")
    return payload


def _first_text(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is not empty."""
    for name in names:
        if text := _text(payload, name):
            return text
    return ""


def _text(payload: Mapping[str, Any], name: str) -> str:
    """Return the text of a field; empty when it is missing."""
    value = payload.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise NotAnEvent(f"`{name}` is no text")
    return whole_characters(value)


def time_of(text: str, seconds: float) -> "datetime":
    """Return the time that `--now` gives, else the local time of these seconds since 1970."""
    from datetime import datetime

    if not text:
        return datetime.fromtimestamp(seconds).astimezone()
    try:
        now = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"`--now {text}` is no time") from None
    return now if now.tzinfo else now.astimezone()
