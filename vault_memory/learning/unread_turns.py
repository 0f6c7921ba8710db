"""Selects the turns that a learning cycle reads, in a size that a model can read.

A mark made from its id shows that a turn was read. Times cannot show that: turns of another
device may arrive days later. A transcript is not opened again while its file is unchanged and all
its turns were read.

A question has room for a number of characters, labels included. It gets unread turns in their
order while they fit; the next question of the night gets the others. The person's own words are
complete. Words of the bot and of others between them are cut in the middle to the remaining room,
never to less than their beginning and end. Automated turns get a fifth of the room, and more if
people leave it. Automated turns that do not fit are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256
from itertools import chain

from vault_memory.learning.checkpoint import CheckpointStore, LastCycle
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


@dataclass(frozen=True, slots=True)
class DayAgain:
    """The turns of a local day, which a cycle reads once more."""

    marks: frozenset[str]
    beginning: datetime

    @classmethod
    def of(cls, logs: Mapping[str, Log], day: date, zone: tzinfo) -> "DayAgain":
        """Finds the turns of the day in the transcripts."""
        turns = unread(logs, set(), datetime.min.replace(tzinfo=UTC))
        marks = (mark_of(turn.id) for turn in turns if day_of(turn, zone) == day)
        return cls(frozenset(marks), datetime(day.year, day.month, day.day, tzinfo=zone))

    def reopen(self, last: LastCycle) -> None:
        """Lets a cycle after this one open the transcripts of the day."""
        # An unchanged transcript without unread turns is not opened.
        last.files = {}
        # A day may be older than the memory of the vault.
        if last.since and self.beginning < moment_of(last.since):
            last.since = self.beginning.isoformat()

    def mark_unread(self, store: CheckpointStore, scope: str) -> None:
        """Marks the turns as unread, durably."""
        last = store.last(scope)
        last.scope = scope
        last.since = last.since or self.beginning.isoformat()
        self.reopen(last)
        store.mark_unread(scope, last.serial, sorted(self.marks))
        store.save(scope, last)
