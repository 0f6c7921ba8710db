"""What the owner of a note said in the sessions that are open now: it decides whether a tool may write a rule."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.errors import VaultMemoryError
from vault_memory.rules.context.standing_rules import (
    is_rules_heading,
    keys_of,
    reads_like_rule,
)

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.conversations.sessions import Session
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.layout import Layout

logger = logging.getLogger(__name__)

WORKSPACE = "group:main"
_OWN = frozenset({"", "owner", "talk"})


def said_in_session(
    conversations: "ConversationCalls", note: str, asked: object
) -> tuple[str, ...]:
    """Keys of the sentences that the note's owner says in recorded turns of open sessions.

    Empty when `asked`, the ops or facts, contains no rule: then no transcript is read.
    """
    place = conversations.vault.layout.place(note)
    if place is None:
        return ()
    texts = tuple(_texts(asked))
    if place.kind != "rules" and not any(
        reads_like_rule(text) or is_rules_heading(text) for text in texts
    ):
        return ()
    idle = timedelta(minutes=conversations.vault.config.sessions.idle_minutes)
    try:
        sessions = [
            session
            for session in conversations.sessions.all()
            if session.is_open
            and _speaks_for(session, place.scope, conversations.vault.layout)
        ]
        return keys_of(
            turn.text
            for session in sessions
            for turn in _turns(conversations, session, idle)
        )
    except VaultMemoryError as error:
        logger.warning("what was said in this session cannot be read: %s", error)
        return ()


def _speaks_for(session: "Session", scope: str, layout: "Layout") -> bool:
    """Whether the owner of a scope talks in a session."""
    if scope.startswith("channel:"):
        return session.channel == scope.removeprefix("channel:")
    owner = layout.user if scope == WORKSPACE else scope.removeprefix("user:")
    return bool(session.user) and session.user == owner


def _turns(
    conversations: "ConversationCalls", session: "Session", idle: timedelta
) -> "Iterator[Turn]":
    """What a person said in their own words in a session."""
    day = timedelta(days=1)
    first, last = session.began.date() - day, session.last.date() + day
    for turn in conversations.transcripts.in_place(
        session.user, session.channel, first, last
    ):
        is_recent = _is_recent(turn.at, session.last, idle)
        is_own = (
            turn.role == "user" and turn.origin in _OWN and turn.user == session.user
        )
        if (
            turn.is_automated
        ):  # a job in the person's name must not let a tool write a rule
            continue
        if turn.session == session.id and is_own and is_recent:
            yield turn


def _is_recent(at: datetime, last: datetime, idle: timedelta) -> bool:
    """A session that nobody ended may be weeks old: only its last stretch counts."""
    return last - at <= max(idle, timedelta(hours=1))


def _texts(asked: Any) -> Iterator[str]:
    if isinstance(asked, str):
        yield asked
    elif isinstance(asked, Mapping):
        for value in asked.values():
            yield from _texts(value)
    elif is_dataclass(asked) and not isinstance(asked, type):
        for field in fields(asked):
            yield from _texts(getattr(asked, field.name))
    elif isinstance(asked, Iterable) and not isinstance(asked, bytes):
        for value in asked:
            yield from _texts(value)
