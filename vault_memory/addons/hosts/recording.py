"""Records what an event of a host brings: each turn once.

The id of a turn follows from its words and from the turn before it in its session. So it is the same
when two processes carry out one event, when a host runs two hooks for it, and in the drop folder.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.addons.hosts import host_transcripts
from vault_memory.addons.hosts.hook_payload import Event
from vault_memory.config import state_file
from vault_memory.conversations import calls as conversation_calls
from vault_memory.conversations import drop_folder
from vault_memory.edits import edit_errors
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.learning.policy import secret_signs

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.addons.hosts.hook_events import EventContext
    from vault_memory.addons.hosts.host_transcripts import Reply
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.scopes import Caller

PERSON, BOT = "user", "assistant"
MOST_BYTES = 3 << 20
"""Of a turn; the drop folder takes no longer line than 4 MB"""


class EventTurn(NamedTuple):
    """A turn that an event brings, as the drop folder takes it."""

    id: str
    ts: str
    role: str
    text: str


def turns_of(
    event: Event, caller: "Caller", now: "datetime", before: "Sequence[Turn] | None"
) -> list[EventTurn]:
    """Return what an event says, without what is recorded already.

    `before` are the recorded turns up to this moment; None where they cannot be read.
    """
    of_session = [turn for turn in before or () if turn.session == event.session]
    turns: list[EventTurn] = []
    ts = now.isoformat()
    # Fault: two prompts of the same words are two, where turns between them cannot be seen.
    first = "" if before is not None else ts
    prompt = _unanswered_prompt(event, caller, of_session) if event.kind == "turn" else None
    for role, text in _texts_of(event).items():
        if not text.strip() or (role == PERSON and prompt):
            continue
        text = _beginning(text)
        id_ = _id_of(event, caller, role, text, [prompt] if prompt else of_session, first)
        if any(turn.id == id_ for turn in of_session):
            continue
        new_turn = EventTurn(id_, ts, role, text)
        turns.append(new_turn)
        # The answer of an event follows its prompt.
        of_session.append(_turn(event, caller, new_turn))
    return turns


def _texts_of(event: Event) -> dict[str, str]:
    """Return what an event says, by the role of who says it."""
    match event.kind:
        case "prompt":
            return {PERSON: event.prompt}
        case "turn":
            return {PERSON: event.prompt, BOT: event.reply}
        case "answer":
            return {BOT: event.reply.strip()}
        case _:
            return {}


def _unanswered_prompt(
    event: Event, caller: "Caller", of_session: "Sequence[Turn]"
) -> "Turn | None":
    """Return the recorded prompt of a turn that a host hands over behind its answer."""
    # Fault: a host hands a turn over in the background, and the next prompt may be recorded before
    # it. The id that follows from the turn before would be another one.
    text = _beginning(event.prompt)
    for prompt in reversed(of_session):
        if _is_prompt(prompt, event, caller, text):
            is_answered = any(
                turn.role == BOT and turn.id == _id_of(event, caller, BOT, turn.text, [prompt], "")
                for turn in of_session
            )
            if not is_answered:
                return prompt
    return None


def _is_prompt(turn: "Turn", event: Event, caller: "Caller", text: str) -> bool:
    speaker = (turn.role, turn.user, turn.is_automated)
    if speaker != (PERSON, caller.user, event.is_automated):
        return False
    return secret_signs.is_same(turn.text, text)


def _beginning(text: str) -> str:
    """Return the part of a text that a turn can have."""
    # Fault: a pasted log is longer than a turn may be. Without its beginning the words of the
    # person would be lost, too.
    raw = text[: conversations_turn.LONGEST].encode("utf-8")
    return raw[:MOST_BYTES].decode("utf-8", "ignore")


def _id_of(
    event: Event, caller: "Caller", role: str, text: str, before: "Sequence[Turn]", first: str
) -> str:
    """Return the id of a turn; `first` replaces the turn before the first one."""
    if role == BOT and event.turn:
        return host_transcripts.answer_id(event.session, event.turn, text)
    previous = next(filter(_precedes(event, caller, role, text), reversed(before)), None)
    id_of_previous = previous.id if previous else first
    automated = "automated" if event.is_automated else ""
    return host_transcripts.digest(
        event.session, caller.user, role, automated, event.turn, id_of_previous, text
    )


def _precedes(event: Event, caller: "Caller", role: str, text: str) -> "Callable[[Turn], bool]":
    """Return the test for the turn that a turn with this text follows."""
    if role == BOT:
        # A host may report an answer several times until the next prompt.
        return lambda turn: turn.role == PERSON
    # The same prompt again, and nothing between, is a repeated event.
    return lambda turn: turn.role in (PERSON, BOT) and not _is_prompt(turn, event, caller, text)


def _turn(event: Event, caller: "Caller", said: EventTurn, source: str = "talk") -> "Turn":
    return conversations_turn.Turn(
        id=said.id,
        ts=said.ts,
        session=event.session,
        role=said.role,
        user=caller.user,
        channel=caller.channel,
        text=said.text,
        source=source,
        automated=event.is_automated,
    )


def recorded_before(context: "EventContext") -> "list[Turn]":
    """Return the turns that were recorded shortly before an event."""
    caller = context.caller
    return context.memory.conversations.transcripts.shortly_before(
        caller.user, caller.channel, context.now
    )


def record(context: "EventContext", turns: Sequence[EventTurn]) -> None:
    """Record the turns of an event, and end or sum up its session where the event says so.

    An earlier attempt may have recorded them already: no turn is recorded twice.
    """
    memory, event = context.memory, context.event
    match event.kind:
        case "prompt" | "turn":
            options = conversation_calls.RecordOptions(now=context.now, again=True)
            for said in turns:
                turn = _turn(event, context.caller, said, context.host.name)
                memory.conversations.record(turn, options)
        case "answer":
            drop(context, turns)
            memory.conversations.take_dropped()
        case "compact" | "end":
            memory.conversations.take_dropped()
            if event.transcript:
                drop(context, _unrecorded_replies(context))
                memory.conversations.take_dropped()
    if event.kind == "compact":
        _sum_up(context)
    if event.kind == "end":
        memory.end_session(
            event.session, user=context.caller.user, channel=context.channel, now=context.now
        )


def _sum_up(context: "EventContext") -> None:
    """Write the episode of a conversation that the host is about to shorten, and that goes on."""
    # Fault: a host shortens a conversation of which nothing was recorded. That is no
    # error of the hook.
    with suppress(edit_errors.UnclearId):
        context.memory.learning.sum_up(
            context.event.session,
            context.event.summary,
            user=context.caller.user,
            channel=context.caller.channel,
            now=context.now,
        )


def drop(context: "EventContext", turns: Sequence[EventTurn]) -> None:
    """Put turns into the drop folder, which records each of them once, also after a second call."""
    state = context.memory.vault.state.path
    keep(state, context.host.name, context.event, context.caller, turns)


def keep(
    state: Path, host: str, event: Event, caller: "Caller", turns: Sequence[EventTurn]
) -> None:
    """Put turns into the drop folder of a state folder; the vault itself may be away."""
    if not turns:
        return
    common = {
        "session": event.session,
        "user": caller.user,
        "channel": caller.channel,
        "source": host,
        # A host passes on what its person types.
        "origin": "owner",
        "automated": event.is_automated,
    }
    # Fault: escaped, a long text of another script is longer than the folder takes.
    lines = [json.dumps(turn._asdict() | common, ensure_ascii=False) + "\n" for turn in turns]
    folder = drop_folder.DropFolder(state).make()
    # Fault: two hooks may drop a turn at once, and process ids repeat. Neither may
    # overwrite the other's file.
    name = f"{host}-{os.getpid()}-{os.urandom(4).hex()}.jsonl"
    state_file.write(folder / name, "".join(lines))


def _unrecorded_replies(context: "EventContext") -> list[EventTurn]:
    """Return the answers of the transcript that are not recorded yet."""
    # Some hosts name their turns only in the event, or only in the transcript. Such an answer has
    # two ids, so it is compared by its words.
    event = context.event
    replies = host_transcripts.read_replies(context.host, event.transcript, event.session)
    recorded = {turn.id: turn.text for turn in _recorded_answers(context, replies)}
    reply_ids = {reply.id for reply in replies}
    unmatched = [turn for turn in recorded.items() if turn[0] not in reply_ids]
    unrecorded = []
    for reply in replies:
        if reply.id in recorded:
            continue
        twin = next((turn for turn in unmatched if _is_twin(turn, reply)), None)
        if twin is None:
            unrecorded.append(EventTurn(reply.id, reply.time, "assistant", reply.text))
        else:
            unmatched.remove(twin)
    return unrecorded


def _is_twin(turn: tuple[str, str], reply: "Reply") -> bool:
    """Whether a recorded answer, by id and text, is this one under another id."""
    id_, text = turn
    prefix = host_transcripts.TURN_PREFIX
    # Both ids name a turn, and they differ: the same words were said in two turns.
    if id_.startswith(prefix) and reply.id.startswith(prefix):
        return False
    return secret_signs.is_same(text[: host_transcripts.MOST_CHARACTERS], reply.text)


def _recorded_answers(context: "EventContext", replies: "Sequence[Reply]") -> "list[Turn]":
    """Return the recorded answers of this session that may be among these."""
    from datetime import datetime, timedelta

    session, caller = context.event.session, context.caller
    conversations = context.memory.conversations
    days = []
    for open_session in conversations.sessions.find(session, caller.user, caller.channel):
        days += [open_session.began.date(), open_session.last.date()]
    for reply in replies:
        with suppress(ValueError):
            days.append(datetime.fromisoformat(reply.time).date())
    if not days:
        return []
    # Fault (G114): the host's clock may be in another time zone. So a day more is read
    # on both sides.
    margin = timedelta(days=1)
    turns = conversations.transcripts.in_place(
        caller.user, caller.channel, min(days) - margin, max(days) + margin
    )
    answers = (session, "assistant")
    return [turn for turn in turns if (turn.session, turn.role) == answers]
