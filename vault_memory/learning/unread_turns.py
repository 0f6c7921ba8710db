"""Selects the turns that a learning cycle reads, in a size that a model can read. Pure.

A mark made from its id shows that a turn was read. Times cannot show that: turns of another
device may arrive days later. A transcript is not opened again while its file is unchanged and all
its turns were read.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256
from itertools import chain

from vault_memory.learning.packing import PackedTurn, packed, prefix
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.model_prompt import Excerpt

ROOM = 50_000
"""Characters of one question: known facts, turns, and all labels"""
MARK_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Log:
    """One transcript."""

    signature: str
    """differs as soon as the file changes"""
    turns: tuple[Turn, ...] | None
    """None for an unchanged file without unread turns"""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The turns of one question."""

    excerpts: tuple[Excerpt, ...] = ()
    """conversation by conversation"""
    turns: tuple[Turn, ...] = ()
    """all turns that the question covers, also those without an excerpt, in their order"""
    more: int = 0
    """turns that did not fit; the next question begins with them"""

    @property
    def evidence(self) -> dict[str, Turn]:
        """The turns to learn from, by id: those with a person's own words in the question.

        Their texts are without what others wrote, such as a pasted mail.
        """
        # Fault: what the bot or another member said would count as the person's own words.
        own = {excerpt.id: excerpt.text for excerpt in self.excerpts if excerpt.own}
        return {turn.id: turn._replace(text=own[turn.id]) for turn in self.turns if turn.id in own}

    @property
    def others(self) -> set[str]:
        """Ids of turns of other people and of the bot; what only they say is proposed.

        Automated turns are not among them: every night would propose the same again.
        """
        automated = {turn.id for turn in self.turns if turn.is_automated}
        return {excerpt.id for excerpt in self.excerpts if not excerpt.own} - automated


def gather(turns: Sequence[Turn], *, user: str, room: int = ROOM, zone: tzinfo = UTC) -> Gathered:
    """Fits unread turns into one question, grouped by conversation.

    `user` is the person of the cycle; empty for a channel, where the words of every member count.
    `room` is for the lines of turns, in characters. The model reads their times in `zone`.
    """
    fitting = prefix(turns, user, room, zone)
    sessions: dict[str, list[PackedTurn]] = {}
    for item in fitting:
        sessions.setdefault(item.turn.session, []).append(item)
    grouped = list(chain.from_iterable(sessions.values()))
    covered = tuple(item.turn for item in fitting)
    return Gathered(tuple(packed(grouped, room)), covered, len(turns) - len(covered))


def mark_of(id_: str) -> str:
    """Returns the mark of a turn: hexadecimal digits of the hash of its id."""
    # Fault: the id of a turn from outside may have a lone surrogate, which plain UTF-8 refuses.
    return sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]


def unread(logs: Mapping[str, Log], read: Set[str], since: datetime) -> list[Turn]:
    """Returns the turns without a mark in `read`, each once, by time; none from before `since`."""
    turns: dict[str, Turn] = {}
    for path in sorted(logs):
        for turn in logs[path].turns or ():
            # Fault: turns of another device may be older than those that were read. Only the mark
            # shows that a turn is new.
            if turn.at >= since and mark_of(turn.id) not in read:
                # A sync conflict may copy a turn into a second transcript.
                turns.setdefault(turn.id, turn)
    return sorted(turns.values(), key=lambda turn: turn.at)


def read_out(logs: Mapping[str, Log], remaining: Iterable[Turn]) -> dict[str, str]:
    """Returns the signatures of the transcripts that have none of the `remaining` turns."""
    waiting = {turn.id for turn in remaining}
    return {
        path: log.signature
        for path, log in logs.items()
        # Fault: a transcript with a turn left would never be opened again.
        if waiting.isdisjoint(turn.id for turn in log.turns or ())
    }


def moment_of(ts: str) -> datetime:
    """Parses the time of a turn. Without a zone it is in UTC."""
    moment = datetime.fromisoformat(ts)
    # Fault: a time without a zone cannot be compared with others, and would end the night.
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def day_of(turn: Turn, zone: tzinfo) -> date:
    """Returns the local date of a turn."""
    return turn.at.astimezone(zone).date()
