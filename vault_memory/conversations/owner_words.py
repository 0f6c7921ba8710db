"""The words of a note's owner in open sessions: only from these a tool writes rules and statements."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from vault_memory.errors import VaultMemoryError
from vault_memory.models.llm.own_words import own_words, sentences
from vault_memory.rules.context.standing_rules import (
    LONGEST_TURN,
    is_rules_heading,
    keys_of,
    reads_like_rule,
)
from vault_memory.rules.learning import grounding

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.conversations.sessions import Session
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.layout import Layout

logger = logging.getLogger(__name__)

WORKSPACE = "group:main"
_OWN = frozenset({"", "owner", "talk"})


def said_in_session(
    conversations: "ConversationCalls", note: str, request: object
) -> tuple[str, ...]:
    """Returns keys of the sentences that the note's owner says in recorded turns of open sessions.

    Empty when `request`, the ops or facts, contains no rule: then no transcript is read.
    """
    place = conversations.vault.layout.place(note)
    if place is None:
        return ()
    # Fault: to read transcripts for each edit would slow down every tool call.
    if place.kind != "rules" and not any(map(_is_rule, _texts(request))):
        return ()
    return keys_of(text for _, text in _own_texts(conversations, place.scope))


def turns_that_say(
    conversations: "ConversationCalls", note: str, statement: str
) -> tuple[str, ...]:
    """Returns the words of the turns in which the note's owner says a statement in open sessions."""
    place = conversations.vault.layout.place(note)
    if place is None:
        return ()
    spoken = {
        # A question says nothing of what it asks.
        turn.id: grounding.OwnTurn(" ".join(sentences(text)), turn.user, turn.at.date())
        for turn, text in _own_texts(conversations, place.scope)
    }
    carriers = grounding.OwnTurns(spoken).carriers_of_all(statement)
    return tuple(spoken[turn_id].text for turn_id in carriers)


def _own_texts(conversations: "ConversationCalls", scope: str) -> "list[tuple[Turn, str]]":
    """Returns the turns whose words are certainly those of the owner of a scope, with the words."""
    try:
        sessions = _sessions_of_owner(conversations, scope)
        turns = chain.from_iterable(_turns(conversations, session) for session in sessions)
        return list(_certainly_own(turns))
    except VaultMemoryError as error:
        # Fault: an unreadable transcript proves nothing. Without the person's words the tool may
        # not write a rule.
        logger.warning("what was said in this session cannot be read: %s", error)
        return []


def _certainly_own(turns: "Iterable[Turn]") -> "Iterator[tuple[Turn, str]]":
    """Yields the turns whose words are certainly the person's, with these words."""
    for turn in turns:
        # A long turn is a pasted document.
        if len(turn.text) <= LONGEST_TURN:
            own = own_words(turn.text)
            if not own.is_pasted:
                yield turn, own.text


def _is_rule(text: str) -> bool:
    return reads_like_rule(text) or is_rules_heading(text)


def _sessions_of_owner(conversations: "ConversationCalls", scope: str) -> "list[Session]":
    """Returns the open sessions in which the owner of a scope talks."""
    layout = conversations.vault.layout
    return [
        session
        for session in conversations.sessions.all()
        if session.is_open and _speaks_for(session, scope, layout)
    ]


def _speaks_for(session: "Session", scope: str, layout: "Layout") -> bool:
    """Whether the owner of a scope talks in a session."""
    if scope.startswith("channel:"):
        # Fault: a member of the channel may also have a session of their own. Only words in the
        # channel count.
        return session.channel == scope.removeprefix("channel:")
    owner = layout.user if scope == WORKSPACE else scope.removeprefix("user:")
    # Fault: an automated session without a person would match a scope without a name.
    return bool(session.user) and session.user == owner


def _turns(conversations: "ConversationCalls", session: "Session") -> "Iterator[Turn]":
    """Yields what a person said in their own words in a session."""
    day = timedelta(days=1)
    turns = conversations.transcripts.in_place(
        session.user, session.channel, session.began.date() - day, session.last.date() + day
    )
    for turn in turns:
        # Fault (H123): a job in the person's name must not let a tool write a rule.
        if turn.is_automated or turn.session != session.id:
            continue
        if _is_own(turn, session) and _is_recent(turn.at, session.last):
            yield turn


def _is_own(turn: "Turn", session: "Session") -> bool:
    # Fault (H123, H124): what the bot or another member says is no word of the owner.
    if turn.role != "user" or turn.user != session.user:
        return False
    return turn.origin in _OWN


def _is_recent(at: datetime, last: datetime) -> bool:
    """Whether a turn belongs to the last stretch of a session, which may be open for weeks."""
    # Fault: a session may be open for weeks. Words from its beginning must not allow a
    # rule today.
    return last - at <= timedelta(hours=1)


def _texts(request: Any) -> Iterator[str]:
    """Yields all texts in ops or facts."""
    if isinstance(request, str):
        yield request
        return
    for value in _values_in(request):
        yield from _texts(value)


def _values_in(request: Any) -> Iterable[Any]:
    if isinstance(request, Mapping):
        return request.values()
    if is_dataclass(request) and not isinstance(request, type):
        return [getattr(request, field.name) for field in fields(request)]
    if isinstance(request, Iterable) and not isinstance(request, bytes):
        return request
    return ()
