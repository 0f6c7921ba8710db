"""Bots for Telegram, Slack and Discord, with a memory: one message in, the text of the reply out.

Each function takes the JSON that the service sends as plain dictionaries, so no SDK is needed.
A group is a channel of the vault; a direct message is a conversation with the person alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory import AsyncVaultMemory, Caller

Answer = Callable[[list[dict[str, str]]], str]
"""Asks a model: messages in, text out"""


@dataclass(frozen=True)
class Message:
    """A message of any service. `channel` is empty for a direct message."""

    user: str
    text: str
    session: str
    channel: str = ""


def from_telegram(update: Mapping[str, Any]) -> Message | None:
    """Read an `Update` of Telegram's Bot API; None for one that is no text of a person."""
    message = update.get("message") or {}
    sender = message.get("from", {})
    if not message.get("text") or sender.get("is_bot"):
        return None
    chat = message["chat"]
    channel = "" if chat["type"] == "private" else f"telegram-{chat['id']}"
    user = f"telegram-{sender['id']}"
    return Message(user, message["text"], f"telegram-{chat['id']}", channel)


def from_slack(body: Mapping[str, Any]) -> Message | None:
    """Read an `event_callback` of Slack's Events API; None for one that is no text of a person."""
    event = body.get("event") or {}
    # Fault: a bot that answers its own messages talks to itself.
    if event.get("type") not in ("message", "app_mention") or event.get("bot_id"):
        return None
    if event.get("subtype") or not event.get("text"):
        return None
    place = f"slack-{event['channel']}"
    channel = "" if event.get("channel_type") == "im" else place
    session = f"{place}-{event.get('thread_ts', '')}".rstrip("-")
    return Message(f"slack-{event['user']}", event["text"], session, channel)


def from_discord(payload: Mapping[str, Any]) -> Message | None:
    """Read a `MESSAGE_CREATE` of Discord's gateway; None for one that is no text of a person."""
    data = payload.get("d") or {}
    author = data.get("author", {})
    is_text = payload.get("t") == "MESSAGE_CREATE" and data.get("content")
    if not is_text or author.get("bot"):
        return None
    place = f"discord-{data['channel_id']}"
    channel = place if data.get("guild_id") else ""
    return Message(f"discord-{author['id']}", data["content"], place, channel)


async def reply(memory: AsyncVaultMemory, message: Message, answer: Answer) -> str:
    """Answer a message with what the vault remembers, and record both sides."""
    scopes = Caller(message.user, message.channel).reads(memory.layout)
    block = await memory.context(message.text, scopes=scopes, session=message.session)
    prompt = f"{block.text}\n\n{message.text}".strip()
    text = answer([{"role": "user", "content": prompt}])
    await record(memory, message, "user", message.text)
    await record(memory, message, "assistant", text)
    return text


async def record(memory: AsyncVaultMemory, message: Message, role: str, text: str) -> None:
    """Record one side of a conversation."""
    await memory.record_turn(
        session=message.session,
        role="user" if role == "user" else "assistant",
        user=message.user,
        channel=message.channel or None,
        text=text,
    )
