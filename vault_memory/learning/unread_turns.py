"""What a night looks at: the turns that no night has read, cut to a size that a model can read. Pure.

A turn is known to have been read by a mark made of its id, not by its time: what was said on another device may arrive
days later. A transcript whose file is as it was, and of which every turn has been read, is not opened again.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256

from vault_memory.learning.packing import Piece, packed, prefix
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.model_prompt import Excerpt

ROOM = 50_000
"""Characters of one question: what is known already, what was said, and all labels"""


@dataclass(frozen=True, slots=True)
class Log:
    """One transcript."""

    signature: str
    """another one as soon as the file is changed"""
    turns: tuple[Turn, ...] | None
    """None where the file is as it was"""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a night looks at."""

    excerpts: tuple[Excerpt, ...] = ()
    """conversation by conversation"""
    turns: tuple[Turn, ...] = ()
    """all that were taken in, shown or left out, in their order"""
    more: int = 0
    """turns that found no room; the next question begins with them"""

    @property
    def evidence(self) -> dict[str, Turn]:
        """By id: the turns that something may be learned from, which are people's own, and shown."""
        shown = {one.id for one in self.excerpts if one.own}
        return {turn.id: turn for turn in self.turns if turn.id in shown}

    @property
    def others(self) -> set[str]:
        """Turns of other people and of the bot; what a brain learned from these alone is proposed.

        What a job said is not among them: every night would propose it anew.
        """
        automated = {turn.id for turn in self.turns if turn.is_automated}
        return {one.id for one in self.excerpts if not one.own} - automated


def gather(turns: Sequence[Turn], *, user: str, room: int = ROOM) -> Gathered:
    """Of the turns that no night has read, in their order, what one question is about, conversation by conversation.

    `user` is whose night it is; empty for a channel, where everybody's own words count. `room` is for their lines.
    """
    pieces = prefix(turns, user, room)
    sessions: dict[str, list[Piece]] = {}
    for piece in pieces:
        sessions.setdefault(piece.turn.session, []).append(piece)
    grouped = [piece for pieces_of_one in sessions.values() for piece in pieces_of_one]
    taken = tuple(piece.turn for piece in pieces)
    return Gathered(tuple(packed(grouped, room)), taken, len(turns) - len(taken))


def mark_of(id_: str) -> str:
    """By which a turn is known to have been read: 12 hex digits."""
    return sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def unread(logs: Mapping[str, Log], read: Set[str], since: datetime) -> list[Turn]:
    """The turns that no night has read, each once, in the order of time; none from before the memory began."""
    found: dict[str, Turn] = {}
    for path in sorted(logs):
        for turn in logs[path].turns or ():
            if turn.at >= since and mark_of(turn.id) not in read:
                found.setdefault(turn.id, turn)
    return sorted(found.values(), key=lambda turn: turn.at)


def read_out(logs: Mapping[str, Log], left: Iterable[Turn]) -> dict[str, str]:
    """The signatures of the transcripts that have none of the turns which are left."""
    waiting = {turn.id for turn in left}
    return {
        path: log.signature
        for path, log in logs.items()
        if all(turn.id not in waiting for turn in log.turns or ())
    }


def moment_of(ts: str) -> datetime:
    """A time as it stands in a turn; without a zone it is one in UTC."""
    at = datetime.fromisoformat(ts)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def day_of(turn: Turn, zone: tzinfo) -> date:
    """The local date on which it was said."""
    return turn.at.astimezone(zone).date()
