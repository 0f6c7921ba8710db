"""Reads a conversation of an export of ChatGPT: a tree of messages, of which one branch counts.

Editing a question or asking again begins a branch. `current_node` is the end of the one that the
person saw last.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any, cast

import msgspec

from vault_memory.addons.transfer import chat_messages
from vault_memory.addons.transfer.chat_messages import Chat, Message, Speaker, field

KEY = b'"mapping"'
"""A conversation of this program has this key"""
AN_IMAGE = "an image"
_ROLES = {"user": "", "assistant": "", "system": chat_messages.OF_SYSTEM}
"""Role → why its messages are left out; empty for those that are not. Others belong to tools"""
_TYPES = {
    "text": "",
    "multimodal_text": "",
    "thoughts": chat_messages.THOUGHT,
    "reasoning_recap": chat_messages.THOUGHT,
    "user_editable_context": chat_messages.HIDDEN,
    "model_editable_context": chat_messages.HIDDEN,
}
"""The same by type; the context is the profile that a person wrote for the program"""
_CITATION = re.compile("\ue200[^\ue201]*\ue201")
"""A mark that the program shows as a link to a source"""


class _TreeAuthor(msgspec.Struct):
    role: str = ""


class _TreeContent(msgspec.Struct):
    content_type: str = "text"
    parts: list[Any] | None = None


class _TreeMetadata(msgspec.Struct):
    is_visually_hidden_from_conversation: bool | None = None
    attachments: list[Any] | None = None


class _TreeMessage(msgspec.Struct):
    id: str = ""
    author: _TreeAuthor | None = None
    create_time: float | None = None
    content: _TreeContent | None = None
    recipient: str | None = None
    metadata: _TreeMetadata | None = None


class _TreeNode(msgspec.Struct):
    message: _TreeMessage | None = None
    parent: str | None = None


class _MessageTree(msgspec.Struct):
    mapping: dict[str, _TreeNode]
    id: str | None = None
    conversation_id: str | None = None
    create_time: float | None = None
    current_node: str | None = None


def read(raw: bytes, zone: tzinfo) -> Chat:
    """Reads the JSON of a conversation. Raises ForeignShape."""
    conversation = chat_messages.decoded(raw, _MessageTree)
    nodes = conversation.mapping
    path = chat_messages.path_to(_leaf(conversation), lambda node: _parent(nodes, node))
    left = Counter[str]()
    count = sum(_is_spoken(nodes[key]) for key in nodes.keys() - set(path))
    if count:
        left[chat_messages.BRANCH] = count
    began = chat_messages.time_of(conversation.create_time, zone)
    messages = []
    spoken = (nodes[key].message for key in path if key in nodes)
    for message in filter(None, spoken):
        at = chat_messages.time_of(message.create_time, zone) or began
        read_message = _read(message, at)
        if isinstance(read_message, str):
            left[read_message] += 1
            continue
        messages.append(read_message)
        # A message without a time was said after the one before it.
        began = at
    id_ = conversation.conversation_id or conversation.id or (path[0] if path else "")
    return Chat(id_, tuple(messages), left)


def _leaf(conversation: _MessageTree) -> str:
    """Returns the end of the branch that counts; of an old export, its newest message."""
    nodes = conversation.mapping
    if conversation.current_node in nodes:
        return conversation.current_node
    times = {key: node.message.create_time or 0.0 for key, node in nodes.items() if node.message}
    return max(times, key=lambda key: times[key], default="")


def _parent(nodes: dict[str, _TreeNode], key: str) -> str | None:
    return nodes[key].parent if key in nodes else None


def _is_spoken(node: _TreeNode) -> bool:
    return node.message is not None and _role(node.message) in ("user", "assistant")


def _read(message: _TreeMessage, at: datetime | None) -> Message | str:
    """Returns a message, or the reason why it is left out."""
    reason = _reason_without_words(message)
    if reason:
        return reason
    text = chat_messages.with_attachments(_texts(message), _attached(message))
    return chat_messages.said(message.id, cast(Speaker, _role(message)), text, at)


def _reason_without_words(message: _TreeMessage) -> str:
    """Returns why a message has no words of a person or the bot; empty if it has."""
    if message.metadata and message.metadata.is_visually_hidden_from_conversation:
        return chat_messages.HIDDEN
    type_ = (message.content or _TreeContent()).content_type
    reason = _ROLES.get(_role(message), chat_messages.OF_TOOL)
    reason = reason or _TYPES.get(type_, chat_messages.OF_TOOL)
    # What the bot writes for a tool has the tool as its recipient.
    is_to_all = message.recipient in (None, "", "all")
    return reason if reason or is_to_all else chat_messages.OF_TOOL


def _role(message: _TreeMessage) -> str:
    return message.author.role if message.author else ""


def _texts(message: _TreeMessage) -> Iterator[str]:
    """Yields what was written, and what was heard in a spoken conversation."""
    for segment in _segments(message):
        text = segment if isinstance(segment, str) else field(segment, "text")
        if isinstance(text, str):
            yield _CITATION.sub("", text)


def _attached(message: _TreeMessage) -> Iterator[str]:
    """Yields the names of the attached files, and a word for an image without one."""
    files = (message.metadata and message.metadata.attachments) or ()
    names = [field(file, "name") for file in files]
    yield from (name for name in names if isinstance(name, str) and name)
    if not names:
        for segment in _segments(message):
            if field(segment, "content_type") == "image_asset_pointer":
                yield AN_IMAGE


def _segments(message: _TreeMessage) -> list[Any]:
    return (message.content and message.content.parts) or []
