"""What a host tells a hook: one JSON object on standard input, read into an event that all hosts have in common."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from vault_memory.command_line import LARGEST_PAYLOAD
from vault_memory.errors import UsageError

HOSTS = ("claude-code", "codex", "gemini-cli", "hermes", "opencode")
"""Programs that call a hook: three by their own design, the others through what `install` writes for them"""
LONGEST_NAME = 200

EVENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "answer",
    "PreCompact": "compact",
    "BeforeAgent": "prompt",
    "AfterAgent": "answer",
    "SessionEnd": "end",
    "Recall": "recall",
    "TurnEnd": "turn",
    "Search": "search",
}
"""The last three come from our own provider, whose host has no prompt without its answer"""

_GIVEN = re.compile(r"<hook_context>.*?</hook_context>\s*", re.DOTALL)
"""What Gemini CLI puts in front of a prompt: the answers of hooks, in which no such mark can stand"""
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
    """What came on standard input is nothing that a host says."""


class Event(NamedTuple):
    """One moment of a conversation."""

    kind: str
    """one of the values of `EVENTS`"""
    name: str
    """as the host has it, which the answer repeats"""
    session: str
    prompt: str = ""
    reply: str = ""
    transcript: str = ""
    """the file of the host with the conversation so far; empty when it names none"""
    turn: str = ""
    """the host's own id of what the person said and of the answer to it; empty when it names none"""
    silent: bool = False
    """said by a subagent or a scheduled job, or not by anybody"""
    automated: bool = False
    """said by a job in the person's name: it is recorded, and nothing is learned from it"""


def read(raw: bytes) -> Event:
    """The event that a payload tells. Raises NotAnEvent."""
    said = _object(raw)
    name = _text(said, "hook_event_name")
    if name not in EVENTS:
        raise NotAnEvent(f"{name[:LONGEST_NAME]!r} is no event of a conversation")
    session = _text(said, "session_id")
    if not session or len(session) > LONGEST_NAME:
        raise NotAnEvent("`session_id` names no session")
    kind, prompt = EVENTS[name], _text(said, "prompt")
    if name == "BeforeAgent":
        prompt = (
            _GIVEN.sub("", prompt, count=1)
            if prompt.startswith("<hook_context>")
            else prompt
        )
    return Event(
        kind,
        name,
        session,
        prompt,
        _first(said, "reply", "last_assistant_message", "prompt_response"),
        _text(said, "transcript_path"),
        _turn(said, name),
        silent=bool(said.get("silent"))
        or bool(said.get("agent_id"))
        or (kind == "prompt" and not is_said(prompt)),
        automated=bool(said.get("automated")),
    )


def _turn(said: Mapping[str, object], name: str) -> str:
    """What names the turn; Gemini CLI has no id of it, and its time is the same however often it is told."""
    return (
        _text(said, "timestamp")
        if name == "AfterAgent"
        else _first(said, "prompt_id", "turn_id")
    )


def _first(said: Mapping[str, object], *names: str) -> str:
    return next((text for name in names if (text := _text(said, name))), "")


def is_said(prompt: str) -> bool:
    """Whether somebody said this: it is no command to the host, and no message of its own."""
    text = prompt.strip()
    return bool(text) and not _COMMAND.match(text) and not text.startswith(_NOT_TYPED)


def _object(raw: bytes) -> Mapping[str, object]:
    if len(raw) > LARGEST_PAYLOAD:
        raise NotAnEvent(f"more than {LARGEST_PAYLOAD:,} bytes came on standard input")
    try:
        said = json.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise NotAnEvent("what came on standard input is no JSON") from None
    if not isinstance(said, dict):
        raise NotAnEvent("what came on standard input is no JSON object")
    return said


def _text(said: Mapping[str, object], name: str) -> str:
    """A text of the payload; halves of letters, which no file can hold, are replaced."""
    value = said.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise NotAnEvent(f"`{name}` is no text")
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
