"""What a model is reached with, beside the configuration, and the count of its tokens."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


LETTERS_PER_TOKEN = 4
"""Of most scripts; a Chinese, Japanese or Korean letter is a token of its own"""
_WIDE = (
    (0x1100, 0x11FF),
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""First and last code point of the letters of these scripts"""


class CallTokens(NamedTuple):
    """The tokens of one call."""

    read: int
    """of the question"""
    written: int
    """of the answer"""
    is_estimated: bool = False


Meter = Callable[[CallTokens], None]
"""Is told the tokens of each call"""


def unmetered(tokens: CallTokens) -> None:
    """Count nothing."""


def estimated_tokens(text: str) -> int:
    """Return how many tokens a text probably has."""
    if text.isascii():
        return -(-len(text) // LETTERS_PER_TOKEN)
    wide = sum(1 for letter in text if _is_wide(letter))
    return wide - (-(len(text) - wide) // LETTERS_PER_TOKEN)


def estimated_call(question: str, answer: str) -> CallTokens:
    """Return the probable tokens of a call."""
    return CallTokens(estimated_tokens(question), estimated_tokens(answer), is_estimated=True)


def tokens_of_reply(request: bytes, reply: bytes) -> CallTokens:
    """Return the tokens that a server of OpenAI's protocol names in its reply, else estimated ones."""
    payload = _object_of(reply)
    usage = payload.get("usage")
    if isinstance(usage, Mapping):
        read: Any = usage.get("prompt_tokens")
        written: Any = usage.get("completion_tokens")
        if _is_count(read) and _is_count(written):
            return CallTokens(read, written)
    messages = _object_of(request).get("messages")
    choices = payload.get("choices")
    return estimated_call(_contents(messages), _contents(choices))


def _object_of(raw: bytes) -> Mapping[str, Any]:
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, Mapping) else {}


def _contents(entries: object) -> str:
    """Return the texts of messages, or of the choices of a reply."""
    if not isinstance(entries, list):
        return ""
    texts = []
    for entry in entries:
        message = entry.get("message", entry) if isinstance(entry, Mapping) else None
        content = message.get("content") if isinstance(message, Mapping) else None
        texts.append(content if isinstance(content, str) else "")
    return "".join(texts)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_wide(letter: str) -> bool:
    code = ord(letter)
    return any(first <= code <= last for first, last in _WIDE)


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The environment of a model, the vault that asks it, and the count of its tokens."""

    vault: "Path | None" = None
    """the folder that must not contain the file of the key"""
    meter: Meter = unmetered
    """receives the tokens of each call"""
    environment: Mapping[str, str] | None = None
    """of a command; None: that of this process"""


BARE = ModelAccess()
"""Counts nothing, and asks for no vault"""
