"""What a night looks at: the turns that no night has read, cut to a size that a model can read. Pure.

A turn is known to have been read by a mark made of its id, not by its time: what was said on another device may arrive
days later. A transcript whose file is as it was, and of which every turn has been read, is not opened again.

What people said gets four fifths of the room and what came by itself (cron jobs, briefings) one fifth; what the one
does not need the other may have. Within that, each conversation has room in proportion to its length, and none less
than a floor. Where a conversation is longer, its beginning and its end are kept, around a mark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256

from vault_memory.memory import Turn
from vault_memory.memory.prompting import CUT, Excerpt

ROOM = 50_000
"""Characters in all"""
INTERACTIVE_SHARE = 0.8
FLOOR = 500
"""Characters for the shortest share of a conversation that does not fit"""
HEAD_SHARE = 0.4


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
    """turns that found no room; the next night begins with them"""

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


def gather(turns: Iterable[Turn], *, user: str, room: int = ROOM) -> Gathered:
    """Of the turns that no night has read, in their order, what this one looks at.

    `user` is whose night it is; empty for a channel, where everybody's own words count.
    """
    taken, more = _with_room(list(turns), max(1, room // FLOOR))
    sessions: dict[str, list[Turn]] = {}
    for turn in taken:
        sessions.setdefault(turn.session, []).append(turn)
    lengths = {name: sum(len(turn.text) for turn in its) for name, its in sessions.items()}
    automated = {name for name, its in sessions.items() if all(turn.is_automated for turn in its)}
    shares = _shares(lengths, automated, room)
    shown = [one for name, its in sessions.items() for one in _excerpts(its, lengths[name], shares[name], user)]
    return Gathered(tuple(shown), tuple(taken), more)


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
        path: log.signature for path, log in logs.items() if all(turn.id not in waiting for turn in log.turns or ())
    }


def is_own(turn: Turn, user: str) -> bool:
    """Whether a person said it: the one whose night it is, or in a channel anybody."""
    if turn.role != "user" or turn.origin != "owner" or turn.is_automated:
        return False
    return turn.user == user if user else bool(turn.user)


def moment_of(ts: str) -> datetime:
    """A time as it stands in a turn; without a zone it is one in UTC."""
    at = datetime.fromisoformat(ts)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def day_of(turn: Turn, zone: tzinfo) -> date:
    """The local date on which it was said."""
    return turn.at.astimezone(zone).date()


def _with_room(turns: list[Turn], most: int) -> tuple[list[Turn], int]:
    """The turns up to the one that begins a conversation too many, and how many come after."""
    seen: set[str] = set()
    for at, turn in enumerate(turns):
        seen.add(turn.session)
        if len(seen) > most:
            return turns[:at], len(turns) - at
    return turns, 0


def _shares(lengths: Mapping[str, int], automated: set[str], room: int) -> dict[str, int]:
    """How many characters each conversation gets."""
    people = {name: length for name, length in lengths.items() if name not in automated}
    others = {name: length for name, length in lengths.items() if name in automated}
    wanted, wanted_others = sum(people.values()), sum(others.values())
    for_people = min(wanted, max(int(room * INTERACTIVE_SHARE), room - wanted_others))
    return {**_divided(people, for_people), **_divided(others, min(wanted_others, room - for_people))}


def _divided(lengths: Mapping[str, int], room: int) -> dict[str, int]:
    """In proportion to length; none below the floor, unless it is shorter or there is no room for that."""
    if sum(lengths.values()) <= room:
        return dict(lengths)
    floor = min(FLOOR, room // len(lengths))
    shares = {name: min(length, floor) for name, length in lengths.items()}
    rest = room - sum(shares.values())
    above = {name: length - shares[name] for name, length in lengths.items()}
    total = sum(above.values())
    return {name: share + rest * above[name] // total for name, share in shares.items()}


def _excerpts(turns: Sequence[Turn], length: int, share: int, user: str) -> Iterator[Excerpt]:
    """The turns of a conversation; of one that is longer than its share the beginning and the end."""
    head = share if length <= share else int(share * HEAD_SHARE)
    tail_from = length - (share - head)
    start = 0
    for turn in turns:
        end = start + len(turn.text)
        text = turn.text
        if end > head and start < tail_from and length > share:
            before, after = text[: max(0, head - start)], text[max(0, tail_from - start) :]
            text = before + CUT + after if before or after else ""
        if text:
            who = turn.user if turn.role == "user" and turn.user else turn.role
            who += " (automated)" if turn.is_automated else ""
            yield Excerpt(turn.id, text, who, is_own(turn, user), turn.ts, turn.session)
        start = end
