"""What a server's reply to a chat completion means. What it says of errors is not quoted: it may repeat a prompt."""

import json
import re
from collections.abc import Mapping
from typing import Any

_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window|limit)|maximum context|too (?:long|many tokens)"
    r"|exceed\w* .{0,40}(?:context|tokens)|(?:input|prompt) (?:length|tokens?).{0,40}(?:exceed|limit|max)|token limit"
    r"|reduce the length",
    re.IGNORECASE,
)
_SHAPE = re.compile(
    r"response_?format|json_?schema|json_object|grammar|structured|guided|\bschema\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")


class TooLong(Exception):
    """The question is longer than the model reads."""

    def __str__(self) -> str:
        return "it cannot read so much at once"


class CutShort(Exception):
    """The answer is longer than the model may write."""

    def __str__(self) -> str:
        return "its answer was cut off"


class NotHeld(Exception):
    """The server cannot hold its model to the form that was asked for, or knows no such setting."""

    def __init__(self, reason: str, *, temperature: bool = False) -> None:
        super().__init__(reason)
        self.temperature = temperature


class Refused(Exception):
    """The server does not answer this, in whatever form."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def judged(status: int, content: bytes, *, strict: bool = True) -> dict[str, Any]:
    """The reply as an object, or one of the exceptions above. Not `strict`: an error that may pass is passed over."""
    if status == 200:
        try:
            reply = json.loads(content)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise Refused(
                "what it answers is no JSON",
                "see whether `brain.base_url` is the address of such a server",
            )
        return reply
    said = content[:10_000].decode("utf-8", "replace")
    if status in (400, 413, 422, 500) and _TOO_LONG.search(said):
        raise TooLong
    if status in (400, 422, 500, 501) and (
        "temperature" in said or _SHAPE.search(said)
    ):
        raise NotHeld(
            f"it refuses the request (status {status}{_code(said)})",
            temperature="temperature" in said,
        )
    if not strict:
        return {}
    if status == 413:
        raise TooLong
    if status in (400, 422, 501):
        raise NotHeld(f"it refuses the request (status {status}{_code(said)})")
    raise _refused(status, said)


def content_of(reply: Mapping[str, Any]) -> str:
    """The text of the first choice; empty when the model gave none. Raises `CutShort`, `TooLong`."""
    if _was_shortened(reply):
        raise TooLong
    choices = reply.get("choices")
    choice = (
        choices[0]
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping)
        else {}
    )
    if choice.get("finish_reason") == "length":
        raise CutShort
    message = choice.get("message")
    text = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(text, list):
        text = "".join(
            str(part.get("text", "")) for part in text if isinstance(part, Mapping)
        )
    return text if isinstance(text, str) else ""


def _was_shortened(reply: Mapping[str, Any]) -> bool:
    """Whether it looks as if only a part of the question was read.

    Ollama leaves out what is beyond its context and says nothing of it; the count of tokens read is the size of its
    context then, a multiple of 1024. By chance that happens once in a thousand answers, and asks needlessly in halves.
    """
    usage = reply.get("usage")
    read = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return isinstance(read, int) and read > 0 and read % 1024 == 0


def _refused(status: int, said: str) -> Refused:
    match status:
        case 401 | 403:
            return Refused("it does not accept the key", "check `brain.api_key_file`")
        case 404:
            return Refused(
                "it knows no such model or address",
                "check `brain.model` and `brain.base_url`",
            )
        case 429:
            return Refused(
                "it is busy (status 429)", "it is asked again the next night"
            )
        case _ if 300 <= status < 400:
            return Refused(
                f"it points elsewhere (status {status})",
                "put the final address into `brain.base_url`",
            )
        case _:
            return Refused(
                f"it answers with status {status}{_code(said)}", "see its own log"
            )


def _code(said: str) -> str:
    """The short name that most servers give to an error."""
    try:
        error = json.loads(said)["error"]
        code = error.get("code") or error.get("type")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return f", {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
