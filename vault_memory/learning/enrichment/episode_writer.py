"""Writes the episode of one conversation at once, from the words of a host or of the person."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.edits.calls import EditOptions
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import UsageError
from vault_memory.learning.enrichment.episode_notes import (
    NoteView,
    SessionId,
    deps_of,
    for_channel,
    moment_of_first,
    spoken,
)
from vault_memory.learning.policy.retractions import IsDeleted, look_up, undeleted
from vault_memory.learning.runner import zone_of
from vault_memory.learning.unread_turns import is_own
from vault_memory.markdown import document, note_items
from vault_memory.markdown.items import parse_text
from vault_memory.rules.learning import episodes as rules
from vault_memory.rules.learning.episodes import EpisodeRules, ExistingEpisode, SpokenTurn
from vault_memory.rules.paths import scope_notes

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.conversations.sessions import Session
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.markdown.document import SectionedDoc
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.scope_notes import Places

MOST_CANDIDATES = 10
"""Conversations that the answer to an unknown name lists"""
WHY = "a conversation was summed up"


class Compacted(NamedTuple):
    """The episode of a conversation that was summed up."""

    id: str
    """of its first item; empty when there is nothing to write"""
    note: str
    preview: str
    """its text, an item a line"""


NOTHING = Compacted("", "", "")


class SessionQuery(NamedTuple):
    """The conversation to sum up."""

    session: str
    user: str | None = None
    channel: str | None = None
    """None: in any channel or in none; empty: in none"""


def find_session(conversations: "ConversationCalls", request: SessionQuery) -> "Session":
    """Returns the conversation that is meant. Raises UnclearId with those of the person."""
    sessions = conversations.sessions
    matches = _of_request(sessions.find(request.session), request)
    if len(matches) == 1:
        return matches[0]
    # Fault: two people have a session of this name. A guess would sum up the words of another
    # person.
    if matches:
        raise UsageError(
            f"several people have a session {request.session!r}",
            hint="name the person or the channel",
        )
    others = _of_request(sessions.all(), request)
    newest = dict.fromkeys(session.id for session in reversed(others))
    raise UnclearId(
        "conversation",
        request.session,
        list(newest)[:MOST_CANDIDATES],
        hint="name a conversation with recorded turns",
    )


def _of_request(sessions: "list[Session]", request: SessionQuery) -> "list[Session]":
    return [
        session
        for session in sessions
        if request.user in (None, session.user) and request.channel in (None, session.channel)
    ]


class EpisodeWriter:
    """Writes the episode of one conversation."""

    def __init__(
        self, edits: "EditCalls", session: "Session", turns: "list[Turn]", now: datetime | None
    ) -> None:
        self._edits = edits
        self._state = edits.vault.state.path
        self._session = SessionId(session.id, session.user, session.channel)
        self._scope = session.scope
        self._zone = zone_of(edits.vault.config, session.scope)
        self._turns = [turn for turn in turns if self._is_own(turn)]
        self._now = now or datetime.now(UTC)

    def _is_own(self, turn: "Turn") -> bool:
        is_of_session = SessionId.of(turn) == self._session
        return is_of_session and is_own(turn, self._session.user)

    def write_if_substantive(self, text: str) -> Compacted:
        """Writes as `write` does, unless hardly anything was said."""
        turns = spoken(self._turns, self._zone, deps_of(self._state).rules())
        return self.write(text) if rules.is_substantive(turns) else NOTHING

    def write(self, text: str) -> Compacted:
        """Writes the lines of a text, or without one the words of the person."""
        deps = deps_of(self._state)
        judge = deps.rules()
        # Fault: members of the channel read the note.
        if self._session.channel:
            judge = for_channel(judge)
        turns = undeleted(spoken(self._turns, self._zone, judge), self._is_deleted())
        if not turns:
            return NOTHING
        with deps.lock():
            view = self._view()
            since = turns[-1].day - timedelta(days=rules.MOST_DAYS - 1)
            existing = view.find(self._session.key, since)
            parts = rules.parts_of(turns, existing)
            day = max(parts)
            return self._write_part(text, parts[day], existing.get(day), judge)

    def _write_part(
        self,
        text: str,
        turns: list[SpokenTurn],
        existing: ExistingEpisode | None,
        judge: EpisodeRules,
    ) -> Compacted:
        view = self._view()
        is_current = existing is not None and not existing.turns_after(turns)
        if existing is not None:
            is_kept = not text and is_current
            # Fault: a person edited the episode. A second call of the host must not replace it.
            if is_kept or not view.is_of_the_bot(existing):
                return self._told(existing.note, list(existing.texts))
        sentences = self._sentences(text, turns, judge)
        if not sentences:
            return NOTHING
        lines = [rules.item_line(sentence, turns[-1], self._session.key) for sentence in sentences]
        began = moment_of_first(self._turns, turns, self._zone)
        heading = rules.heading_of(self._session.session, began)
        note = existing.note if existing else self._places().episodes_of(turns[0].day)
        ops = rules.ops_for(view.doc(note), heading, lines, existing)
        edit = self._edits.apply(note, ops, EditOptions("tool", why=WHY, now=self._now))
        _check(edit)
        return self._told(note, lines)

    def _sentences(self, text: str, turns: list[SpokenTurn], judge: EpisodeRules) -> list[str]:
        if not text.strip():
            quoted = rules.verbatim(turns, judge)
            return [rules.GAP.join(rules.fitting(quoted))] if quoted else []
        lines = rules.lines_in(text)
        is_deleted = self._is_deleted()
        # Fault: the host's text may have what policy leaves out of episodes, or a person deleted.
        return rules.fitting(
            line for line in lines if not judge.is_left_out(line) and not is_deleted("", line)
        )

    def _is_deleted(self) -> IsDeleted:
        profile = self._places().profile
        return look_up(self._edits.editor, profile, self._turns, self._now)

    def _told(self, note: str, lines: list[str]) -> Compacted:
        place = self._edits.vault.layout.place(note)
        assert place is not None, "the layout has a place for episodes"
        id_ = note_items.item_id(place.scope, place.kind, lines[0])
        texts = [parse_text(line).text for line in lines]
        return Compacted(id_, note, "\n".join(texts))

    def _view(self) -> NoteView:
        return NoteView(dict(self._places().episodes), self._doc, self._edits.editor.trail.of)

    def _doc(self, note: str) -> "SectionedDoc":
        current = self._edits.editor.there(note)
        return document.parse(current.raw if current else b"")

    def _places(self) -> "Places":
        vault = self._edits.vault
        listing = vault.folder.listing()
        return scope_notes.places_of(self._scope, list(listing.entries), vault.layout)


def _check(edit: "Edit") -> None:
    """Raises UsageError when nothing could be written."""
    if edit.rejected:
        raise UsageError(
            f"the summary cannot be written: {edit.rejected[0].reason}",
            hint="give another text, or leave it out",
        )


def turns_of(conversations: "ConversationCalls", session: "Session") -> "list[Turn]":
    """Returns the recorded turns on the days of a conversation."""
    day = timedelta(days=1)
    return conversations.transcripts.in_place(
        session.user, session.channel, session.began.date() - day, session.last.date() + day
    )


def sum_up(
    edits: "EditCalls",
    conversations: "ConversationCalls",
    request: SessionQuery,
    text: str,
    now: datetime | None,
) -> Compacted:
    """Writes the episode of a conversation that goes on, if there is enough to sum up.

    Raises UnclearId, UsageError.
    """
    session = find_session(conversations, request)
    if conversations.is_incognito(session.id, session.user):
        return NOTHING
    turns = turns_of(conversations, session)
    return EpisodeWriter(edits, session, turns, now).write_if_substantive(text)


def compact(
    edits: "EditCalls",
    conversations: "ConversationCalls",
    request: SessionQuery,
    text: str,
    now: datetime | None,
) -> "tuple[Session, list[Turn], Compacted]":
    """Writes the episode of a conversation. Raises UnclearId, UsageError."""
    session = find_session(conversations, request)
    turns = turns_of(conversations, session)
    # The text of a host may have words of an incognito conversation.
    # Fault (H124): another person may have an incognito conversation of the same name.
    if conversations.is_incognito(session.id, session.user):
        return session, [], NOTHING
    compacted = EpisodeWriter(edits, session, turns, now).write(text)
    return session, turns, compacted
