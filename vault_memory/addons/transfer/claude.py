"""Reads a conversation of an export of Claude: a list of messages, which may have branches."""

from collections import Counter
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

import msgspec

from vault_memory.addons.transfer import chat_messages
from vault_memory.addons.transfer.chat_messages import Chat, Message, Speaker, field

KEY = b'"chat_messages"'
"""A conversation of this program has this key"""
A_FILE = "a file"
_SPEAKERS: dict[str, Speaker] = {"human": "user", "assistant": "assistant"}


class _ListedMessage(msgspec.Struct):
    uuid: str = ""
    sender: str = ""
    text: str | None = None
    content: list[Any] | None = None
    created_at: str | None = None
    attachments: list[Any] | None = None
    files: list[Any] | None = None
    parent_message_uuid: str | None = None


class _MessageList(msgspec.Struct):
    chat_messages: list[_ListedMessage]
    uuid: str = ""
    created_at: str | None = None
    current_leaf_message_uuid: str | None = None


def read(raw: bytes, zone: tzinfo) -> Chat:
    """Reads the JSON of a conversation. Raises ForeignShape."""
    conversation = chat_messages.decoded(raw, _MessageList)
    left = Counter[str]()
    spoken = _branch(conversation)
    count = len(conversation.chat_messages) - len(spoken)
    if count:
        left[chat_messages.BRANCH] = count
    messages = []
    for message in spoken:
        read_message = _read(message, conversation.created_at, zone)
        if isinstance(read_message, str):
            left[read_message] += 1
        else:
            messages.append(read_message)
    return Chat(conversation.uuid, tuple(messages), left)


def _branch(conversation: _MessageList) -> list[_ListedMessage]:
    """Returns the messages that the person saw last; all of them where none names its parent."""
    messages = conversation.chat_messages
    by_id = {message.uuid: message for message in messages}
    # Fault: an older export names no parents, and would have its last message only.
    if not any(message.parent_message_uuid in by_id for message in messages):
        return messages
    leaf = conversation.current_leaf_message_uuid
    if leaf not in by_id:
        leaf = max(messages, key=lambda message: message.created_at or "").uuid
    path = chat_messages.path_to(leaf, lambda uuid: _parent(by_id, uuid))
    return [by_id[uuid] for uuid in path if uuid in by_id]


def _parent(by_id: dict[str, _ListedMessage], uuid: str) -> str | None:
    return by_id[uuid].parent_message_uuid if uuid in by_id else None


def _read(message: _ListedMessage, began: str | None, zone: tzinfo) -> Message | str:
    """Returns a message, or the reason why it is left out."""
    role = _SPEAKERS.get(message.sender)
    if role is None:
        return chat_messages.OF_TOOL
    text = chat_messages.with_attachments(_texts(message), _attached(message))
    at = chat_messages.time_of(message.created_at or began, zone)
    return chat_messages.said(message.uuid, role, text, at)


def _texts(message: _ListedMessage) -> Iterator[object]:
    """Yields the blocks that are words; thoughts and the work of tools are others."""
    blocks = [field(block, "text") for block in message.content or () if _is_words(block)]
    yield from blocks or [message.text]


def _is_words(block: object) -> bool:
    return isinstance(block, dict) and bool(block.get("type") == "text")


def _attached(message: _ListedMessage) -> Iterator[object]:
    for file in (*(message.attachments or ()), *(message.files or ())):
        # A long text that was pasted has no name.
        yield field(file, "file_name") or A_FILE
