"""What the bot answered, from the end of the transcript that a host keeps and names in its payload.

Hosts say that the format may change: what is not understood is passed over, and nothing else is read.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TAIL = 2 << 20
"""Bytes of the end of the file that are looked at"""
MOST = 200
"""Answers that are taken from it, the newest"""
LONGEST = 20_000
"""Letters of one answer"""
BY_TURN = "turn-"
"""With it begins the id of an answer whose turn the host named: whoever reports it, it has this id"""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{7,79}")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the bot said last before the person spoke again, or before the end."""

    id: str
    """the same whenever it is read"""
    ts: str
    """ISO 8601 as the host wrote it; may be empty"""
    text: str


def answer_id(session: str, turn: str, text: str) -> str:
    """The id of the answer to a turn, the same from the event at its end and from the transcript."""
    said = "\0".join((session, turn, text[:LONGEST])).encode("utf-8", "replace")
    return BY_TURN + hashlib.sha256(said).hexdigest()[:24]


def replies(path: str, session: str) -> list[Reply]:
    """The answers in the end of a transcript; empty for anything that is none."""
    found: list[Reply] = []
    last: Reply | None = None
    turn = ""
    for record in _records(path):
        turn = _turn(record) or turn
        role, text = _said(record)
        if role == "assistant" and text:
            last = _reply(record, session, turn, text)
        elif role == "user" and last is not None:
            found.append(last)
            last = None
    return [*found, *([last] if last else [])][-MOST:]


def _turn(record: Mapping[str, Any]) -> str:
    """The id of the turn that begins with this line; empty when the line names none."""
    if record.get("isSidechain"):
        return ""
    turn = record.get("promptId")
    if record.get("type") == "turn_context" and isinstance(
        payload := record.get("payload"), dict
    ):
        turn = payload.get("turn_id")
    return turn if isinstance(turn, str) else ""


def _reply(record: Mapping[str, Any], session: str, turn: str, text: str) -> Reply:
    ts = record.get("timestamp")
    ts = ts if isinstance(ts, str) else ""
    if turn:
        return Reply(answer_id(session, turn, text), ts, text[:LONGEST])
    own = record.get("uuid")
    if not (isinstance(own, str) and _ID.fullmatch(own)):
        own = hashlib.sha256(
            "\0".join((session, ts, text)).encode("utf-8", "replace")
        ).hexdigest()[:24]
    return Reply(own, ts, text[:LONGEST])


def _records(path: str) -> Iterator[Mapping[str, Any]]:
    """The objects of the last lines. Only a plain file of ours with the right ending is opened."""
    for line in _tail(path).split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _tail(path: str) -> bytes:
    if not os.path.isabs(path) or not path.endswith(".jsonl") or "\0" in path:
        return b""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, UnicodeError):
        return b""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return b""
        start = max(0, found.st_size - TAIL)
        raw = os.pread(fd, TAIL, start)
    except OSError:
        return b""
    finally:
        os.close(fd)
    return raw[raw.find(b"\n") + 1 :] if start else raw


def _said(record: Mapping[str, Any]) -> tuple[str, str]:
    """Who speaks in a line of either host, and what; empty when nobody does."""
    if (
        record.get("isSidechain")
        or record.get("isMeta")
        or record.get("isApiErrorMessage")
    ):
        return "", ""
    message: Any = None
    if record.get("type") in ("assistant", "user"):
        message = record.get("message")
    elif record.get("type") == "response_item":
        message = record.get("payload")
        message = (
            message
            if isinstance(message, dict) and message.get("type") == "message"
            else None
        )
    if not isinstance(message, dict):
        return "", ""
    role, text = message.get("role"), _text(message.get("content"))
    return (str(role), text) if role in ("assistant", "user") and text else ("", "")


def _text(content: Any) -> str:
    """The words of a message: not what tools were asked and answered, and not what was only thought."""
    if isinstance(content, str):
        return _whole(content)
    if not isinstance(content, list):
        return ""
    kinds = ("text", "output_text", "input_text")
    parts = [
        part.get("text")
        for part in content
        if isinstance(part, dict) and part.get("type") in kinds
    ]
    return _whole(
        "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())
    )


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
