"""Interprets replies to chat completions.

Error texts of a server are never quoted, because they may repeat a prompt.
"""

import json
import re
from collections.abc import Mapping
from math import exp
from typing import Any

from vault_memory.models.llm.phrase_tables import begins_with_no, begins_with_yes

_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window|limit)|maximum context|too (?:long|many tokens)"
    r"|exceed\w* .{0,40}(?:context|tokens)|(?:input|prompt) (?:length|tokens?).{0,40}(?:exceed|limit|max)|token limit"
    r"|reduce the length",
    re.IGNORECASE,
)
_SHAPE = re.compile(
    r"response_?format|json_?schema|json_object|grammar|structured|guided|\bschema\b", re.IGNORECASE
)
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")
LIMIT = "max_tokens"
"""The option that limits the length of an answer"""
OPTIONS = ("temperature", "top_logprobs", "logprobs", LIMIT)
"""Options that some servers and models refuse"""


class TooLong(Exception):
    """The prompt is longer than the context of the model."""

    def __str__(self) -> str:
        return "the prompt exceeds its context"


class Truncated(Exception):
    """The answer exceeds the output limit of the request or of the model."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.text = text
        """the beginning of the answer"""

    def __str__(self) -> str:
        return "its answer was truncated"


class FormatRefused(Exception):
    """The server does not support the requested format, or an option of the request."""

    def __init__(self, reason: str, *, option: str = "") -> None:
        super().__init__(reason)
        self.option = option
        """the option that its answer names"""


class Refused(Exception):
    """The server refuses the request in every format."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def parse_reply(
    status: int, content: bytes, *, strict: bool = True, sends_limit: bool = False
) -> dict[str, Any]:
    """Return the reply as an object, or raise one of the exceptions above.

    Without `strict`, an error that may be temporary returns an empty object. `sends_limit`: the
    request limited the length of the answer.
    """
    if status == 200:
        return _parse_object(content)
    body = content[:10_000].decode("utf-8", "replace")
    _raise_if_clear(status, body, sends_limit=sends_limit)
    if not strict:
        return {}
    if status == 413:
        raise TooLong
    if status in (400, 422, 501):
        raise FormatRefused(_refusal(status, body))
    raise _refused(status, body)


def _raise_if_clear(status: int, body: str, *, sends_limit: bool) -> None:
    """Raise the exception for an error whose text names what the server refuses."""
    option = next((name for name in OPTIONS if name in body), "")
    # vLLM names the context when the limit of the answer does not fit beside the prompt.
    is_about_limit = option == LIMIT and sends_limit
    if is_about_limit and status in (400, 422):
        raise FormatRefused(_refusal(status, body), option=LIMIT)
    if status in (400, 413, 422, 500) and _TOO_LONG.search(body):
        raise TooLong
    is_about_format = bool(option) or _SHAPE.search(body) is not None
    if is_about_format and status in (400, 422, 500, 501):
        raise FormatRefused(_refusal(status, body), option=option)


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        # A hostile answer may nest brackets deeper than Python recurses.
        reply = None
    # A login page or another service at the address also answers with status 200.
    if not isinstance(reply, dict):
        raise Refused(
            "its answer is not JSON",
            "check that `brain.base_url` is the address of an OpenAI-compatible server",
        )
    return reply


def answer_text(reply: Mapping[str, Any]) -> str:
    """Return the text of the first choice, or "". Raises `Truncated`, `TooLong`."""
    if _was_shortened(reply):
        raise TooLong
    choice = _first_choice(reply)
    message = choice.get("message")
    text = message.get("content") if isinstance(message, Mapping) else None
    # Some servers answer with a list of text blocks.
    if isinstance(text, list):
        text = "".join(str(block.get("text", "")) for block in text if isinstance(block, Mapping))
    text = text if isinstance(text, str) else ""
    if choice.get("finish_reason") == "length":
        raise Truncated(text)
    return text


def yes_share(reply: Mapping[str, Any]) -> float:
    """Return the share of "yes" among the answers "yes" and "no" that the model weighed.

    Without probabilities in the reply, its text decides. Raises `TooLong`.
    """
    if _was_shortened(reply):
        raise TooLong
    try:
        tokens = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        weights = [(str(token["token"]), exp(token["logprob"])) for token in tokens]
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        weights = []
    yes = sum(weight for token, weight in weights if begins_with_yes(token))
    no = sum(weight for token, weight in weights if begins_with_no(token))
    if yes + no > 0:
        return yes / (yes + no)
    return float(begins_with_yes(short_text(reply)))


def short_text(reply: Mapping[str, Any]) -> str:
    """Return the text of an answer of which only the first word is wanted. Raises `TooLong`."""
    try:
        return answer_text(reply)
    except Truncated as truncated:
        # A few tokens are all that was asked for.
        return truncated.text


def _refusal(status: int, body: str) -> str:
    return f"it refuses the request (status {status}{_code(body)})"


def _first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        return {}
    choice = choices[0]
    return choice if isinstance(choice, Mapping) else {}


def _was_shortened(reply: Mapping[str, Any]) -> bool:
    """Return whether the server probably dropped the end of the prompt.

    One answer in a thousand looks so by chance and is split needlessly.
    """
    # Ollama silently drops tokens beyond its context. The count of tokens is then the size of the
    # context, a multiple of 1024.
    usage = reply.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return isinstance(tokens, int) and tokens > 0 and tokens % 1024 == 0


def _refused(status: int, body: str) -> Refused:
    match status:
        case 401 | 403:
            return Refused("it does not accept the key", "check `brain.api_key_file`")
        case 404:
            return Refused(
                "it does not know this model or address", "check `brain.model` and `brain.base_url`"
            )
        case 429:
            return Refused("it is busy (status 429)", "wait for the next night, which tries again")
        case _ if 300 <= status < 400:
            return Refused(
                f"it redirects to another address (status {status})",
                "set `brain.base_url` to the final address",
            )
        case _:
            return Refused(
                f"it answers with status {status}{_code(body)}", "read the log of the server"
            )


def _code(body: str) -> str:
    """Return the short error name that most servers send, or ""."""
    try:
        error = json.loads(body)["error"]
        code = error.get("code") or error.get("type")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return f", {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
