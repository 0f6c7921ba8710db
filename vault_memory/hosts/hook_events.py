"""What a host is to give to its model at an event, and what of the event is kept."""

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.hosts.hook_payload import Event
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.conversations.calls import Role
    from vault_memory.daemon import query_or_local
    from vault_memory.hosts import host_transcripts
    from vault_memory.hosts.host_transcripts import Reply
    from vault_memory.rules.context import assemble, quotations
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.caller import Caller
else:
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")
    host_transcripts = lazy_module("vault_memory.hosts.host_transcripts")
    assemble = lazy_module("vault_memory.rules.context.assemble")
    quotations = lazy_module("vault_memory.rules.context.quotations")

LONGEST = 10_000
"""Characters of an answer, as hosts count them; what is longer they put aside"""
ROOM = 9_500
"""Characters of the block that is asked for first; around it stands what the host wants to read"""
GAP = "\n\n"
"""Between two parts of the block"""
CUT = "… (the rest of this note is too long for this place)"
MOST_HITS = 8
"""Of a search"""
PLAIN = ("hermes", "opencode")
"""Hosts that take the text as it is"""


def answer(
    memory: "VaultMemory",
    host: str,
    event: Event,
    caller: "Caller",
    now: "datetime | None",
) -> str:
    """What the model is to be given; the text for the standard output, which may be empty."""
    if event.kind == "start":
        return _fitting(memory, host, event, caller, now)
    if (
        event.kind in ("prompt", "recall")
        and memory.vault.config.memory_search.auto_recall
    ):
        block = _context(memory, event, caller, now, event.prompt)
        return _said(host, event, _lines_for_prompt(host, event, block))
    if event.kind == "search" and event.prompt.strip():
        return _hits(memory, event, caller, now)
    return ""


def _hits(
    memory: "VaultMemory", event: Event, caller: "Caller", now: "datetime | None"
) -> str:
    """What a search finds, quoted for a model."""
    arguments: dict[str, object] = {"limit": MOST_HITS, "session": event.session}
    if now is not None:
        arguments["now"] = now.isoformat()
    found = query_or_local.search(
        memory, event.prompt, scopes=caller.reads(memory.layout), arguments=arguments
    )
    return quotations.of_search(caller.shown(found, memory.layout)).text


def record(
    memory: "VaultMemory",
    host: str,
    event: Event,
    caller: "Caller",
    now: "datetime | None",
    chance: int | None = None,
    *,
    again: bool = False,
) -> None:
    """Keep what was said. With `again`, what an attempt of the same `chance` recorded is left out."""
    texts: dict[Role, str] = {"user": event.prompt, "assistant": event.reply}
    for role, text in texts.items():
        if event.kind in ("prompt", "turn") and text.strip():
            memory.record_turn(
                session=event.session,
                role=role,
                text=text,
                user=caller.user,
                channel=caller.channel or None,
                source=host,
                automated=event.automated,
                now=now,
                chance=None if chance is None else chance ^ (role == "assistant"),
                again=again,
            )
    if event.kind == "answer":
        drop(memory, host, event, caller, _answer_said(event, now))
    if event.kind in ("answer", "compact", "end"):
        memory.conversations.take_dropped()
    if event.kind in ("compact", "end") and event.transcript:
        drop(memory, host, event, caller, _unrecorded(memory, event, caller))
        memory.conversations.take_dropped()
    if event.kind == "end":
        memory.end_session(
            event.session, user=caller.user, channel=caller.channel or None, now=now
        )


class Said(NamedTuple):
    """A turn for the drop folder; where id and time are empty, it gives them."""

    id: str
    ts: str
    role: str
    text: str


def _answer_said(event: Event, now: "datetime | None") -> list[Said]:
    """The answer that an event brings, if it brings one."""
    text = event.reply.strip()
    if not text:
        return []
    return [
        Said(
            host_transcripts.answer_id(event.session, event.turn, text)
            if event.turn
            else "",
            now.isoformat() if now else "",
            "assistant",
            text,
        )
    ]


def _unrecorded(memory: "VaultMemory", event: Event, caller: "Caller") -> list[Said]:
    """The answers of a transcript that are not recorded yet.

    Fault this guards against: a host names its turns in only one of event and transcript. Such an answer has two ids,
    so it is compared by its words.
    """
    answers = host_transcripts.replies(event.transcript, event.session)
    recorded = {
        turn.id: turn.text for turn in _recorded_answers(memory, event, caller, answers)
    }
    by_words = [
        (id_, text)
        for id_, text in recorded.items()
        if id_ not in {answer.id for answer in answers}
    ]
    unrecorded = []
    for answer in (answer for answer in answers if answer.id not in recorded):
        twins = (
            (id_, text)
            for id_, text in by_words
            if text[: host_transcripts.LONGEST] == answer.text
            and not (
                id_.startswith(host_transcripts.BY_TURN)
                and answer.id.startswith(host_transcripts.BY_TURN)
            )
        )
        if (twin := next(twins, None)) is not None:
            by_words.remove(twin)
        else:
            unrecorded.append(Said(answer.id, answer.ts, "assistant", answer.text))
    return unrecorded


def _recorded_answers(
    memory: "VaultMemory", event: Event, caller: "Caller", answers: "Sequence[Reply]"
) -> "list[Turn]":
    """What the bot said in this session, as far as it may be one of these answers."""
    from datetime import datetime, timedelta

    sessions = memory.conversations.sessions.find(
        event.session, caller.user, caller.channel
    )
    days = [at.date() for session in sessions for at in (session.began, session.last)]
    for answer in answers:
        with suppress(ValueError):
            days.append(datetime.fromisoformat(answer.ts).date())
    if not days:
        return []
    day = timedelta(days=1)
    turns = memory.conversations.transcripts.in_place(
        caller.user, caller.channel, min(days) - day, max(days) + day
    )
    return [
        turn
        for turn in turns
        if (turn.session, turn.role) == (event.session, "assistant")
    ]


def drop(
    memory: "VaultMemory",
    host: str,
    event: Event,
    caller: "Caller",
    said: Sequence[Said],
) -> None:
    """Put turns into the drop folder, out of which a turn is taken once, however often it is put in."""
    about: dict[str, str | bool] = {
        "session": event.session,
        "user": caller.user,
        "channel": caller.channel,
        "source": host,
        "automated": event.automated,
    }
    if said:
        folder = memory.conversations.drop_folder.make()
        name = f"{host}-{os.getpid()}-{os.urandom(4).hex()}.jsonl"
        hidden = folder / f".{name}"
        hidden.write_text(
            "".join(json.dumps(one._asdict() | about) + "\n" for one in said),
            encoding="ascii",
        )
        os.replace(hidden, folder / name)


# ---- what is given -------------------------------------------------------------------------------------------------


def _fitting(
    memory: "VaultMemory",
    host: str,
    event: Event,
    caller: "Caller",
    now: "datetime | None",
) -> str:
    """The memory block, as much of it as the host takes."""
    room = min(ROOM, memory.vault.config.max_memory_chars or ROOM)
    for _ in range(3):
        block = _context(memory, event, caller, now, "", budget=room)
        said = _said(host, event, block["text"])
        over = length(said) - LONGEST
        if over <= 0:
            return said
        if len(block["text"]) > room:  # nothing more can be left out
            break
        room = max(1, len(block["text"]) - over)
    return _said(host, event, _shortened(host, event, block))


def _context(
    memory: "VaultMemory",
    event: Event,
    caller: "Caller",
    now: "datetime | None",
    prompt: str,
    **more: object,
) -> dict[str, Any]:
    arguments: dict[str, object] = {
        "session": event.session,
        "automatic": True,
        "private": caller.private,
        **more,
    }
    if now is not None:
        arguments["now"] = now.isoformat()
    return query_or_local.context(
        memory, prompt, scopes=caller.reads(memory.layout), arguments=arguments
    )


def _parts(block: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """What stands before the first part, and the kind and text of each."""
    text, chars = block["text"], [part["chars"] for part in block["parts"]]
    at = len(text) - sum(chars) - len(GAP) * len(chars)
    intro, parts = text[:at], []
    for part in block["parts"]:
        at += len(GAP)
        parts.append((part["kind"], text[at : at + part["chars"]]))
        at += part["chars"]
    return intro, parts


def _lines_for_prompt(host: str, event: Event, block: dict[str, Any]) -> str:
    """The lines of the block that answer the prompt, without what was given when the conversation began."""
    intro, parts = _parts(block)
    mark = f'excerpt="{assemble.ANSWERING}"'
    recalled = [text for kind, text in parts if kind == "recalled"]
    of_memory = [
        text
        for kind, text in parts
        if kind == "memory" and mark in text.partition("\n")[0]
    ]
    lines = GAP.join([intro, *of_memory, *recalled])
    if length(_said(host, event, lines)) > LONGEST:
        lines = GAP.join([intro, *recalled])
    return lines if of_memory or recalled else ""


def _shortened(host: str, event: Event, block: dict[str, Any]) -> str:
    """The beginning of a block of which nothing may be left out: whole lines, and marks that are closed."""
    kept, parts = _parts(block)
    for _, text in parts:
        if length(_said(host, event, kept + GAP + text)) <= LONGEST:
            kept += GAP + text
            continue
        beginnings = _Beginnings(kept + GAP, text)
        fits = bisect_right(
            beginnings, LONGEST, key=lambda cut: length(_said(host, event, cut))
        )
        return beginnings[fits - 1] if fits > 1 else kept
    return kept


class _Beginnings(Sequence[str]):
    """A quotation cut short behind each of its lines, with its marks; the first has none of them."""

    def __init__(self, before: str, text: str) -> None:
        self._before = before
        self._first, *self._lines, self._last = text.split("\n")

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: Any) -> Any:
        return self._before + "\n".join(
            [self._first, *self._lines[:number], CUT, self._last]
        )


def _said(host: str, event: Event, text: str) -> str:
    """The text as the host reads it."""
    if not text or host in PLAIN:
        return text
    return json.dumps(
        {
            "hookSpecificOutput": {
                "hookEventName": event.name,
                "additionalContext": text,
            }
        },
        ensure_ascii=False,
    )


def length(text: str) -> int:
    """In the units of hosts, to which a rare letter is two."""
    return len(text.encode("utf-16-le")) // 2
