"""Carries out an event of a host: what its model is given, and what is recorded."""

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.hosts.hook_payload import Event
from vault_memory.hosts.host import Host
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.config import state_file
    from vault_memory.context import calls as context_calls
    from vault_memory.contract import Role
    from vault_memory.contract.answers import ContextBlockJson
    from vault_memory.daemon import query_or_local
    from vault_memory.edits import edit_errors
    from vault_memory.hosts import host_transcripts
    from vault_memory.hosts.host_transcripts import Reply
    from vault_memory.rules.context import assemble, quotations
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.caller import Caller
    from vault_memory.search import calls as search_calls
    from vault_memory.search import scope_names
else:
    state_file = lazy_module("vault_memory.config.state_file")
    context_calls = lazy_module("vault_memory.context.calls")
    edit_errors = lazy_module("vault_memory.edits.edit_errors")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")
    host_transcripts = lazy_module("vault_memory.hosts.host_transcripts")
    assemble = lazy_module("vault_memory.rules.context.assemble")
    quotations = lazy_module("vault_memory.rules.context.quotations")
    search_calls = lazy_module("vault_memory.search.calls")
    scope_names = lazy_module("vault_memory.search.scope_names")

MOST_CHARACTERS = 10_000
"""Of an answer, as hosts count them; a longer one they put aside"""
BLOCK_CHARACTERS = 9_500
"""Of the block that is asked for first; the rest is for the JSON around it"""
GAP = "\n\n"
"""Between two parts of the block"""
CUT = "… (the rest of this note is too long for this place)"
MOST_HITS = 8
"""Of a search"""
MOST_ATTEMPTS = 3
"""To fit the block into an answer by asking for a shorter one"""


class EventContext(NamedTuple):
    """An event, and what is needed to carry it out."""

    memory: "VaultMemory"
    host: Host
    event: Event
    caller: "Caller"
    now: "datetime | None" = None
    """The time of the event; None: the present"""

    @property
    def channel(self) -> str | None:
        return self.caller.channel or None

    def format(
        self,
        text: str,
        notice: str = "",
    ) -> str:
        """Return the text as the host reads it, with a line that the person sees."""
        return self.host.format_answer(self.event.name, text, notice) if text else ""


class DroppedTurn(NamedTuple):
    """A turn for the drop folder, which gives id and time to a turn that has none."""

    id: str
    ts: str
    role: str
    text: str


# ---- what is recorded ------------------------------------------------------------------------


def record(
    context: EventContext,
    chance: int | None = None,
    *,
    again: bool = False,
) -> None:
    """Record what was said.

    With `again`, an earlier attempt with the same `chance` may have recorded it already: no turn is
    recorded twice.
    """
    memory, event = context.memory, context.event
    match event.kind:
        case "prompt" | "turn":
            _record_turn(context, "user", event.prompt, chance, again)
            # Prompt and answer of one event have two ids, both made from its chance.
            answer_chance = None if chance is None else chance ^ 1
            _record_turn(context, "assistant", event.reply, answer_chance, again)
        case "answer":
            drop(context, _reply_of_event(context))
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
            event.session,
            user=context.caller.user,
            channel=context.channel,
            now=context.now,
        )


def _sum_up(context: EventContext) -> None:
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


def _record_turn(
    context: EventContext,
    role: "Role",
    text: str,
    chance: int | None,
    again: bool,
) -> None:
    if text.strip():
        context.memory.record_turn(
            session=context.event.session,
            role=role,
            text=text,
            user=context.caller.user,
            channel=context.channel,
            source=context.host.name,
            automated=context.event.is_automated,
            now=context.now,
            chance=chance,
            again=again,
        )


def drop_prompt(context: EventContext) -> None:
    """Put the prompt into the drop folder, since there is no time left to record it."""
    time = context.now.isoformat() if context.now else ""
    drop(context, [DroppedTurn("", time, "user", context.event.prompt)])


def drop(
    context: EventContext,
    turns: Sequence[DroppedTurn],
) -> None:
    """Put turns into the drop folder, which records each of them once, also after a second call."""
    if not turns:
        return
    common = {
        "session": context.event.session,
        "user": context.caller.user,
        "channel": context.caller.channel,
        "source": context.host.name,
        "automated": context.event.is_automated,
    }
    lines = [json.dumps(turn._asdict() | common) + "\n" for turn in turns]
    folder = context.memory.conversations.drop_folder.make()
    # Fault: two hooks may drop a turn at once, and process ids repeat. Neither may
    # overwrite the other's file.
    name = f"{context.host.name}-{os.getpid()}-{os.urandom(4).hex()}.jsonl"
    state_file.write(folder / name, "".join(lines))


def _reply_of_event(context: EventContext) -> list[DroppedTurn]:
    """Return the answer that an event brings, if it brings one."""
    event = context.event
    text = event.reply.strip()
    if not text:
        return []
    id_ = ""
    if event.turn:
        id_ = host_transcripts.answer_id(event.session, event.turn, text)
    time = context.now.isoformat() if context.now else ""
    return [DroppedTurn(id_, time, "assistant", text)]


def _unrecorded_replies(context: EventContext) -> list[DroppedTurn]:
    """Return the answers of the transcript that are not recorded yet."""
    # Some hosts name their turns only in the event, or only in the transcript. Such an answer has
    # two ids, so it is compared by its words.
    event = context.event
    replies = host_transcripts.read_replies(
        context.host, event.transcript, event.session
    )
    recorded = {turn.id: turn.text for turn in _recorded_answers(context, replies)}
    reply_ids = {reply.id for reply in replies}
    unmatched = [turn for turn in recorded.items() if turn[0] not in reply_ids]
    unrecorded = []
    for reply in replies:
        if reply.id in recorded:
            continue
        twin = next((turn for turn in unmatched if _is_twin(turn, reply)), None)
        if twin is None:
            unrecorded.append(
                DroppedTurn(reply.id, reply.time, "assistant", reply.text)
            )
        else:
            unmatched.remove(twin)
    return unrecorded


def _is_twin(
    turn: tuple[str, str],
    reply: "Reply",
) -> bool:
    """Whether a recorded answer, by id and text, is this one under another id."""
    id_, text = turn
    prefix = host_transcripts.TURN_PREFIX
    # Both ids name a turn, and they differ: the same words were said in two turns.
    if id_.startswith(prefix) and reply.id.startswith(prefix):
        return False
    return text[: host_transcripts.MOST_CHARACTERS] == reply.text


def _recorded_answers(
    context: EventContext,
    replies: "Sequence[Reply]",
) -> "list[Turn]":
    """Return the recorded answers of this session that may be among these."""
    from datetime import datetime, timedelta

    session, caller = context.event.session, context.caller
    conversations = context.memory.conversations
    days = []
    for open_session in conversations.sessions.find(
        session, caller.user, caller.channel
    ):
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


# ---- what the model is given -----------------------------------------------------------------


def answer(context: EventContext) -> str:
    """Return the text for standard output, which may be empty."""
    memory, event = context.memory, context.event
    match event.kind:
        case "start":
            return _block_that_fits(context)
        case "prompt" | "recall" if memory.vault.config.memory_search.auto_recall:
            block = _ask_for_block(context, event.prompt)
            return _lines_for_prompt(context, block)
        case "search" if event.prompt.strip():
            return _search(context)
        case _:
            return ""


def is_of_nobody(context: EventContext) -> bool:
    """Whether the hook names a person whom this vault of one owner does not have."""
    memory, caller = context.memory, context.caller
    # What is said in a room makes no person.
    is_open = caller.user == memory.layout.user or caller.is_in_shared_room
    if is_open or not memory.vault.owner:
        return False
    try:
        scope_names.unknown_names(memory.searcher, [f"user:{caller.user}"])
    except (scope_names.NotesBelongTo, scope_names.NameUnclear):
        # Fault: a record would make a second person, and commands would refuse to choose.
        return True
    return False


def refusal(context: EventContext) -> str:
    """Return the warning, where the host shows it."""
    is_shown = context.event.kind in ("start", "prompt", "recall")
    return _warning(context) if is_shown else ""


def _warning(context: EventContext) -> str:
    """Return what model and person have to know when this person can read no note."""
    memory = context.memory
    known = memory.vault.indexing.index().scopes()
    reason = context.caller.warning(known, memory.layout)
    text = f"vault-memory: {reason}" if reason else ""
    return context.format(text, text)


def _search(context: EventContext) -> str:
    """Return the hits of a search, quoted for a model."""
    memory, caller = context.memory, context.caller
    hits = query_or_local.search(
        memory,
        context.event.prompt,
        scopes=caller.reads(memory.layout),
        options=search_calls.SearchOptions(
            limit=MOST_HITS, session=context.event.session or None, now=context.now
        ),
    )
    return quotations.of_search(caller.shown(hits, memory.layout)).text


def _block_that_fits(context: EventContext) -> str:
    """Return the memory block, as much of it as the host takes."""
    limit = context.memory.vault.config.max_memory_chars
    budget = min(BLOCK_CHARACTERS, limit or BLOCK_CHARACTERS)
    for _attempt in range(MOST_ATTEMPTS):
        block = _ask_for_block(context, "", budget=budget)
        # Fault: a bot that serves the wrong name has no memory, and looks as if it had.
        if block.get("unknown_scopes") and (warning := _warning(context)):
            return warning
        output = context.format(block["text"])
        excess = length(output) - MOST_CHARACTERS
        if excess <= 0:
            return output
        # Over its budget, the block has only notes that are never left out.
        if len(block["text"]) > budget:
            break
        budget = max(1, len(block["text"]) - excess)
    return context.format(_shorten(context, block))


def _ask_for_block(
    context: EventContext,
    prompt: str,
    budget: int | None = None,
) -> "ContextBlockJson":
    memory, caller = context.memory, context.caller
    return query_or_local.context(
        memory,
        prompt,
        scopes=caller.reads(memory.layout),
        options=context_calls.ContextOptions(
            budget=budget,
            session=context.event.session or None,
            automatic=True,
            private=caller.private,
            now=context.now,
        ),
    )


def _split_block(block: "ContextBlockJson") -> tuple[str, list[tuple[str, str]]]:
    """Return the introduction of a block, and the kind and text of each part."""
    text, sections = block["text"], block["parts"]
    length_of_parts = sum(len(GAP) + section["chars"] for section in sections)
    position = len(text) - length_of_parts
    introduction = text[:position]
    split = []
    for section in sections:
        start = position + len(GAP)
        position = start + section["chars"]
        split.append((section["kind"], text[start:position]))
    return introduction, split


def _lines_for_prompt(
    context: EventContext,
    block: "ContextBlockJson",
) -> str:
    """Return the lines that answer the prompt, without the notes that the session began with."""
    introduction, sections = _split_block(block)
    mark = f' {assemble.ANSWERING}"'
    recalled = [text for kind, text in sections if kind == "recalled"]
    of_notes = [
        text
        for kind, text in sections
        if kind == "memory" and mark in text.partition("\n")[0]
    ]
    for quotations in ([*of_notes, *recalled], recalled):
        if not quotations:
            return ""
        text = GAP.join([introduction, *quotations])
        output = context.format(text, _notice(quotations))
        if length(output) <= MOST_CHARACTERS:
            break
    return output


def _notice(quotations: Sequence[str]) -> str:
    """Return the line for the person: the number of recalled lines, each of which has a label."""
    lines = [line for text in quotations for line in text.split("\n")]
    # Further lines of a memory are indented, so that each counts once.
    count = sum(line.startswith("[") for line in lines)
    return f"recalled {count} {'memory' if count == 1 else 'memories'}"


def _shorten(
    context: EventContext,
    block: "ContextBlockJson",
) -> str:
    """Return the beginning of a block: whole lines, with marks that are closed."""

    def length_of(text: str) -> int:
        return length(context.format(text))

    beginning, sections = _split_block(block)
    for _kind, text in sections:
        longer = beginning + GAP + text
        if length_of(longer) > MOST_CHARACTERS:
            cuts = _Cuts(beginning + GAP, text)
            number = bisect_right(cuts, MOST_CHARACTERS, key=length_of)
            # The first cut has no line of the note: its marks alone say nothing.
            return cuts[number - 1] if number > 1 else beginning
        beginning = longer
    return beginning


class _Cuts(Sequence[str]):
    """A quotation cut behind each of its lines, with its marks. The first cut has no line."""

    def __init__(
        self,
        before: str,
        text: str,
    ) -> None:
        self._before = before
        self._opening, *self._lines, self._closing = text.split("\n")

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: Any) -> Any:
        lines = [self._opening, *self._lines[:number], CUT, self._closing]
        return self._before + "\n".join(lines)


def length(text: str) -> int:
    """Return the length in units of UTF-16, as hosts count it: an emoji is two."""
    return len(text.encode("utf-16-le")) // 2
