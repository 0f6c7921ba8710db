"""Makes exports of chat programs in the shapes that these programs write."""

import itertools
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

Spoken = Sequence[tuple[str, str]]
"""Speaker (``user`` or ``assistant``) and text, one after the other"""
MINUTE = timedelta(minutes=1)


def chatgpt(name: str, began: datetime, spoken: Spoken, **fields: Any) -> dict[str, Any]:
    """A conversation of ChatGPT on one branch; its messages are a minute apart."""
    mapping: dict[str, Any] = {f"{name}-root": {"message": None, "parent": None}}
    last = f"{name}-root"
    for number, (role, text) in enumerate(spoken):
        id_ = f"{name}-{number}"
        at = (began + number * MINUTE).timestamp()
        mapping[id_] = chatgpt_node(id_, last, role, at, [text])
        last = id_
    return {
        "title": f"About {name}",
        "create_time": began.timestamp(),
        "mapping": mapping,
        "current_node": last,
        "conversation_id": name,
        "id": name,
        **fields,
    }


def chatgpt_node(
    id_: str, parent: str, role: str, at: float | None, parts: list[Any], **fields: Any
) -> dict[str, Any]:
    """A node of the tree; `fields` are those of the message."""
    message = {
        "id": id_,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": parts},
        "status": "finished_successfully",
        "recipient": "all",
        "metadata": {"model_slug": "a-model", "citations": []},
    } | fields
    return {"id": id_, "message": message, "parent": parent, "children": []}


def claude(name: str, began: datetime, spoken: Spoken, **fields: Any) -> dict[str, Any]:
    """A conversation of Claude; its messages are a minute apart."""
    messages = [
        claude_message(f"{name}-{number}", role, began + number * MINUTE, text)
        for number, (role, text) in enumerate(spoken)
    ]
    return {
        "uuid": name,
        "name": f"About {name}",
        "created_at": began.isoformat(),
        "account": {"uuid": "an-account"},
        "chat_messages": messages,
        **fields,
    }


def claude_message(id_: str, role: str, at: datetime, text: str, **fields: Any) -> dict[str, Any]:
    """A message of a conversation of Claude."""
    return {
        "uuid": id_,
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}],
        "sender": {"user": "human"}.get(role, role),
        "created_at": at.isoformat().replace("+00:00", "Z"),
        "attachments": [],
        "files": [],
        **fields,
    }


def written(path: Path, conversations: Iterable[Any]) -> Path:
    """Writes a list of conversations, one at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number, conversation in enumerate(conversations):
            file.write(", " if number else "")
            json.dump(conversation, file)
        file.write("]")
    return path


def zipped(path: Path, files: dict[str, Any]) -> Path:
    """Writes a zip with lists of conversations by name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, json.dumps(content))
    return path


WORDS = "harbour lamp rope tide gull oar mast net pier storm anchor sail keel buoy fog".split()


def many_messages(count: int, first: datetime, *, per_conversation: int = 30) -> Iterator[Any]:
    """Conversations of ChatGPT with so many messages in all, the newest first as it exports them."""
    conversations = count // per_conversation
    for number in reversed(range(conversations)):
        words = itertools.islice(itertools.cycle(WORDS), number % 7, number % 7 + 40)
        text = f"In note {number} " + " ".join(words)
        spoken = [
            (("user", "assistant")[turn % 2], f"{text} {turn}") for turn in range(per_conversation)
        ]
        yield chatgpt(f"c{number}", first + number * timedelta(hours=2), spoken)
