"""Reads the bot's answers from the end of the transcript that a host writes.

Hosts say that the format may change. A line that is not understood is skipped, and each host reads
its own lines (`Host.transcript_line`).
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vault_memory.addons.hosts.hook_payload import whole_characters
from vault_memory.addons.hosts.host import Host, TranscriptLine

TAIL_BYTES = 2 << 20
"""The end of the file that is read"""
MOST_ANSWERS = 200
"""The newest answers that are read from it"""
MOST_CHARACTERS = 20_000
"""Of one answer"""
TURN_PREFIX = "turn-"
"""Prefix of the id of an answer whose turn the host named: the same in event and transcript"""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{7,79}")
_TEXT_KINDS = ("text", "output_text", "input_text")
"""Parts of a message with words: neither calls of tools and their results, nor thoughts"""


class Reply(NamedTuple):
    """The bot's last words before the person spoke again, or before the transcript ends."""

    id: str
    """The same whenever the transcript is read"""
    time: str
    """ISO 8601 as the host wrote it; may be empty"""
    text: str


def answer_id(session: str, turn: str, text: str) -> str:
    """Return the id of the answer to a turn: the same for its event and for its transcript."""
    return TURN_PREFIX + digest(session, turn, text[:MOST_CHARACTERS])


def digest(*fields: str) -> str:
    """Return an id that follows from these fields."""
    raw = "\0".join(fields).encode("utf-8", "replace")
    return hashlib.sha256(raw).hexdigest()[:24]


def read_replies(host: Host, path: str, session: str) -> list[Reply]:
    """Return the answers at the end of a transcript; none when the file is not a transcript."""
    replies: list[Reply] = []
    last_reply: Reply | None = None
    turn = ""
    for record in _read_records(path):
        line = host.transcript_line(record)
        turn = line.turn or turn
        if line.role == "assistant" and line.text:
            time = text_in(record, "timestamp")
            last_reply = _reply(line, session, turn, time)
        elif line.role == "user" and last_reply is not None:
            replies.append(last_reply)
            last_reply = None
    if last_reply is not None:
        replies.append(last_reply)
    return replies[-MOST_ANSWERS:]


def text_in(record: Mapping[str, Any], name: str) -> str:
    """Return the text of a field; empty when it is missing or something else."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def message_of(message: object) -> tuple[str, str]:
    """Return role and words of a message; both empty when it has no words."""
    if not isinstance(message, dict):
        return "", ""
    role, text = message.get("role"), _words(message.get("content"))
    if role not in ("assistant", "user") or not text:
        return "", ""
    return str(role), text


def _reply(line: TranscriptLine, session: str, turn: str, time: str) -> Reply:
    text = line.text[:MOST_CHARACTERS]
    if turn:
        id_ = answer_id(session, turn, text)
    elif _ID.fullmatch(line.id):
        id_ = line.id
    else:
        id_ = digest(session, time, line.text)
    return Reply(id_, time, text)


def _words(content: object) -> str:
    """Return the words of a message, whose content is a text or a list of blocks."""
    if isinstance(content, str):
        return whole_characters(content).strip()
    if not isinstance(content, list):
        return ""
    texts = [_words_of_block(block) for block in content]
    words = "\n\n".join(text for text in texts if text.strip())
    return whole_characters(words).strip()


def _words_of_block(block: object) -> str:
    if not isinstance(block, dict) or block.get("type") not in _TEXT_KINDS:
        return ""
    return text_in(block, "text")


def _read_records(path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects among the last lines of the file."""
    for line in _read_tail(path).split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            # Fault (B42): the host may be writing its last line at this moment.
            continue
        if isinstance(record, dict):
            yield record


def _read_tail(path: str) -> bytes:
    """Return the last whole lines of a file; nothing when it is not a transcript of this user."""
    # Fault (H120): the path comes from a payload. A link, a device or the file of
    # another user would be read, and its text would be recorded.
    if not os.path.isabs(path) or not path.endswith(".jsonl") or "\0" in path:
        return b""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags)
    except (OSError, UnicodeError):
        # The host has not written the file yet, or has deleted it.
        return b""
    try:
        status = os.fstat(fd)
        is_own = status.st_uid == os.geteuid()
        if not is_own or not stat.S_ISREG(status.st_mode):
            return b""
        start = max(0, status.st_size - TAIL_BYTES)
        raw = os.pread(fd, TAIL_BYTES, start)
    except OSError:
        return b""
    finally:
        os.close(fd)
    if start == 0:
        return raw
    # The tail begins in the middle of a line.
    end_of_cut_line = raw.find(b"\n") + 1
    return raw[end_of_cut_line:]
