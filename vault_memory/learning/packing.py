"""Chooses which turns fit into one question to the brain, and how much of each. Pure.

A question has room for a number of characters, labels included. It gets unread turns in their
order while they fit; the next question of the night gets the others. The person's own words are
complete. Words of the bot and of others between them are cut in the middle to the remaining room,
never to less than their beginning and end. Automated turns get a fifth of the room, and more if
people leave it. Automated turns that do not fit are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from vault_memory.models.llm.own_words import own_words
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.model_prompt import CUT, Excerpt

JOBS_SHARE = 5
"""Automated turns get one part in so many of the room"""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LEAST = 200
"""Characters that remain of any turn of others"""


@dataclass(frozen=True, slots=True)
class PackedTurn:
    """One turn with the sizes that its line may have."""

    turn: Turn
    excerpt: Excerpt
    """the complete turn"""
    size: int
    """characters of its line, with the label and the line end"""
    least: int
    """shortest possible line; 0 when even the label does not fit"""

    @classmethod
    def of(cls, turn: Turn, *, own: bool, room: int, zone: tzinfo = UTC) -> "PackedTurn":
        """Measures a turn. `own`: the words of the person, which are never cut."""
        who = turn.user if turn.role == "user" and turn.user else turn.role
        if turn.is_automated:
            who += " (automated)"
        moment = _moment_in_words(turn.at.astimezone(zone))
        # Fault: a pasted mail would be read as the words of the person.
        text = own_words(turn.text).text if own else turn.text
        excerpt = Excerpt(turn.id, text, who, own, turn.ts, turn.session, moment)
        label = excerpt.with_text(CUT).size
        if label > room:
            # A transcript edited by hand may have an id or a name of thousands of letters.
            return cls(turn, excerpt, excerpt.size, 0)
        shortest = room if own else min(room, label + LEAST)
        return cls(turn, excerpt, excerpt.size, min(excerpt.size, shortest))

    def within(self, size: int) -> Excerpt | None:
        """Returns the turn cut to so many characters; None when even the label does not fit."""
        if self.size <= size:
            return self.excerpt
        if 0 < self.least <= size:
            return self.excerpt.cut_to(size)
        return None

    def limited(self, limit: int) -> int:
        """Returns the size of the line below this limit."""
        if not self.least:
            return 0
        return max(self.least, min(self.size, limit))


def _moment_in_words(moment: datetime) -> str:
    """Returns ``Mon 2026-05-25 18:40``, in English whatever the locale is."""
    return f"{WEEKDAYS[moment.weekday()]} {moment:%Y-%m-%d %H:%M}"


def is_own(turn: Turn, user: str) -> bool:
    """Whether the turn has the words of `user`; without `user`, of any person in a channel."""
    if turn.role != "user" or turn.origin != "owner" or turn.is_automated:
        return False
    return turn.user == user if user else bool(turn.user)


def prefix(turns: Sequence[Turn], user: str, room: int, zone: tzinfo = UTC) -> list[PackedTurn]:
    """Returns the first turns that one question has room for, at least one if there is any."""
    packed_turns: list[PackedTurn] = []
    people = jobs = 0
    for turn in turns:
        packed_turn = PackedTurn.of(turn, own=is_own(turn, user), room=room, zone=zone)
        if turn.is_automated:
            jobs += packed_turn.size
        else:
            people += packed_turn.least
        if packed_turns and people + min(jobs, room // JOBS_SHARE) > room:
            break
        packed_turns.append(packed_turn)
    return packed_turns


def packed(turns: Sequence[PackedTurn], room: int) -> Iterator[Excerpt]:
    """Yields the lines of the question in the order of the turns. Together they fit."""
    people = [turn for turn in turns if not turn.turn.is_automated]
    jobs = [turn for turn in turns if turn.turn.is_automated]
    least_of_people = sum(turn.least for turn in people)
    unused = room - _total(people)
    jobs_room = min(room - least_of_people, max(room // JOBS_SHARE, unused))
    newest_jobs = _newest(jobs, jobs_room)
    people_room = room - min(jobs_room, _total(newest_jobs))
    sizes = _sizes(people, people_room) | _sizes(newest_jobs, jobs_room)
    for turn in turns:
        excerpt = turn.within(sizes.get(id(turn), 0))
        if excerpt is not None:
            yield excerpt


def _total(turns: Iterable[PackedTurn]) -> int:
    return sum(turn.size for turn in turns)


def _newest(turns: Sequence[PackedTurn], room: int) -> list[PackedTurn]:
    """Returns the newest turns whose shortest lines fit."""
    start = len(turns)
    while start > 0 and turns[start - 1].least <= room:
        start -= 1
        room -= turns[start].least
    return list(turns[start:])


def _sizes(turns: Sequence[PackedTurn], room: int) -> dict[int, int]:
    """Returns the size of each line, by identity, with the highest common limit that fits."""
    low = 0
    high = max((turn.size for turn in turns), default=0)
    while low < high:
        limit = (low + high + 1) // 2
        if sum(turn.limited(limit) for turn in turns) <= room:
            low = limit
        else:
            high = limit - 1
    return {id(turn): turn.limited(low) for turn in turns}
