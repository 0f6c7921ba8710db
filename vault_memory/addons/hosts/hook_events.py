"""Answers an event of a host: what its model is given."""

import fcntl
import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.addons.hosts.hook_payload import Event
from vault_memory.addons.hosts.host import Host
from vault_memory.api import query_or_local
from vault_memory.rules.context import assemble, quoting
from vault_memory.search import scope_names

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.answers import ContextBlockJson
    from vault_memory.rules.paths.scopes import Caller

MOST_CHARACTERS = 10_000
"""Of an answer, as hosts count them; a longer one they put aside"""
BLOCK_CHARACTERS = 9_500
"""Of the block that is asked for first; the rest is for the JSON around it"""
GAP = "\n\n"
"""Between two parts of the block"""
CUT = "… (the rest of this note is too long for this place)"
LONGEST_QUERY = 20_000
"""Letters of a prompt for which memories are recalled; a pasted log takes no longer"""
ANSWERED = "answered.json"
"""In the state folder: the events of the last seconds that were answered"""
TWICE_SECONDS = 3.0
"""Within which a host runs all hooks of an event"""
MOST_ATTEMPTS = 3
"""To fit the block into an answer by asking for a shorter one"""


class EventContext(NamedTuple):
    """An event, and what is needed to carry it out."""

    memory: "VaultMemory"
    host: Host
    event: Event
    caller: "Caller"
    now: "datetime"
    """The time of the event"""
    patience: float
    """Seconds that a daemon has for its answer; 0 where it gave none to this event"""
    news: str = ""
    """Lines of notes that the host has not read: its own, which a person has changed"""

    @property
    def channel(self) -> str | None:
        return self.caller.channel or None

    def with_news(self, text: str) -> str:
        """Return the block with the lines that the host has not read."""
        return GAP.join([text or quoting.INTRO, self.news]) if self.news else text

    def format(self, text: str, notice: str = "") -> str:
        """Return the text as the host reads it, with a line that the person sees."""
        return self.host.format_answer(self.event.name, text, notice) if text else ""


def answer(context: EventContext) -> str:
    """Return the text for standard output, which may be empty."""
    memory, event = context.memory, context.event
    if event.kind in ("start", "prompt") and _is_second(context):
        return ""
    match event.kind:
        case "start":
            return _block_that_fits(context)
        case "prompt" if memory.vault.config.memory_search.auto_recall:
            block = _ask_for_block(context, event.prompt[:LONGEST_QUERY])
            return _lines_for_prompt(context, block)
        case _:
            return ""


def _is_second(context: EventContext) -> bool:
    """Whether another entry of the host has just asked for this event.

    A person may have the entries of `install` and a package, and the host runs the hooks of both.
    """
    event = context.event
    said = event.turn or event.prompt[:LONGEST_QUERY]
    # Fault: one entry may be for a room, and another one for the person alone.
    asked = (context.host.name, event.name, event.session, context.caller, said)
    key = sha256(repr(asked).encode()).hexdigest()
    now = context.now.timestamp()
    try:
        state = context.memory.vault.state.path
        with open(os.open(state / ANSWERED, os.O_RDWR | os.O_CREAT, 0o600), "r+") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            recent = _answered_near(now, stream.read())
            stream.seek(0)
            stream.truncate()
            stream.write(json.dumps({key: now, **recent}))
    except OSError:
        # Fault: a state folder that cannot be written must not cost the conversation its memory.
        return False
    # Fault: a daemon may end while it answers. Each attempt of one hook has the same moment.
    return recent.get(key, now) != now


def _answered_near(now: float, text: str) -> dict[str, float]:
    """Return the events of the file that were answered within the last seconds."""
    try:
        answered = json.loads(text or "{}")
        # Fault: a clock may have been set back since then.
        return {
            key: float(then) for key, then in answered.items() if abs(now - then) < TWICE_SECONDS
        }
    except (ValueError, TypeError, AttributeError):
        # Fault: a person may edit any file of the state folder.
        return {}


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
    is_shown = context.event.kind in ("start", "prompt")
    return _warning(context) if is_shown else ""


def _warning(context: EventContext) -> str:
    """Return what model and person have to know when this person can read no note."""
    memory = context.memory
    known = memory.vault.indexing.index().scopes()
    reason = context.caller.warning(known, memory.layout)
    text = f"vault-memory: {reason}" if reason else ""
    return context.format(text, text)


def _block_that_fits(context: EventContext) -> str:
    """Return the memory block, as much of it as the host takes."""
    limit = context.memory.vault.config.max_memory_chars
    budget = max(1, min(BLOCK_CHARACTERS, limit or BLOCK_CHARACTERS) - len(context.news))
    for _attempt in range(MOST_ATTEMPTS):
        block = _ask_for_block(context, "", budget=budget)
        # Fault: a bot that serves the wrong name has no memory, and looks as if it had.
        if block.get("unknown_scopes") and (warning := _warning(context)):
            return warning
        output = context.format(context.with_news(block["text"]))
        excess = length(output) - MOST_CHARACTERS
        if excess <= 0:
            return output
        # Over its budget, the block has only notes that are never left out.
        if len(block["text"]) > budget:
            break
        budget = max(1, len(block["text"]) - excess)
    return context.format(context.with_news(_shorten(context, block)))


def _ask_for_block(
    context: EventContext, prompt: str, budget: int | None = None
) -> "ContextBlockJson":
    memory, caller = context.memory, context.caller
    return query_or_local.context(
        memory,
        prompt,
        scopes=caller.reads(memory.layout),
        options={
            "budget": budget,
            "session": context.event.session or None,
            "automatic": True,
            "private": caller.private,
            "now": context.now,
        },
        patience=context.patience,
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


def _lines_for_prompt(context: EventContext, block: "ContextBlockJson") -> str:
    """Return the lines that answer the prompt, without the notes that the session began with."""
    introduction, sections = _split_block(block)
    mark = f' {assemble.ANSWERING}"'
    recalled = [text for kind, text in sections if kind == "recalled"]
    of_notes = [
        text for kind, text in sections if kind == "memory" and mark in text.partition("\n")[0]
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


def _shorten(context: EventContext, block: "ContextBlockJson") -> str:
    """Return the beginning of a block: whole lines, with marks that are closed."""

    def length_of(text: str) -> int:
        return length(context.format(context.with_news(text)))

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

    def __init__(self, before: str, text: str) -> None:
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
