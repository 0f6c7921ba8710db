"""Finds a turn by its id in the transcripts, with the turns around it in its session.

A person sees their own words wherever they said them. The turns around them are for those who may
read the transcript.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from vault_memory.errors import VaultError
from vault_memory.rules.conversations.turn import PERSON, Turn, read_turns, time_of_id
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.reader import Folder

LARGEST = 64 << 20
"""Bytes of the largest transcript that is read"""
_DAY = timedelta(days=1)

SCOPE_IS_CLOSED = "others took part, and their transcript is not open here"
NOT_THERE = "no transcript that is open here has it"
REMOVED = "its transcript no longer has it: it was forgotten, or deleted by hand"
NO_TRANSCRIPT = "the transcript of its day is gone"


class FoundTurn(NamedTuple):
    """A turn with its neighbours, or the reason why it is gone."""

    id: str
    gone: str = ""
    """why there is no turn; empty if there is one"""
    turn: Turn | None = None
    transcript: str = ""
    before: tuple[Turn, ...] = ()
    after: tuple[Turn, ...] = ()
    closed: str = ""
    """why no neighbours are shown; empty if they may be"""


class TurnLookup:
    """Looks for turns in the transcripts that some scopes open."""

    def __init__(
        self, folder: Folder, layout: Layout, scopes: Iterable[str], *, keep_days: int = 0
    ) -> None:
        """`keep_days` is the age at which transcripts go to the trash; 0: never."""
        self._folder = folder
        self._layout = layout
        self._scopes = frozenset(scopes)
        self._keep_days = keep_days
        self._turns: dict[str, tuple[Turn, ...]] = {}

    def find(self, turn_id: str, around: int, now: datetime) -> FoundTurn:
        """Returns the turn with this id and as many turns around it, or why it is gone."""
        for place, path in self._near(turn_id):
            for turn in self._read(path):
                # Fault: an id is no permission. The reader must be allowed to see the turn.
                if turn.id == turn_id and self._may_see(place, turn):
                    return self._with_neighbours(place, path, turn, around)
        return FoundTurn(turn_id, gone=self._why_gone(turn_id, now))

    def recent_ids(self, most_files: int) -> Iterator[str]:
        """Yields the ids of turns in the newest transcripts of the scopes."""
        open_paths = [path for place, path in self._transcripts() if place.scope in self._scopes]
        newest = sorted(open_paths, key=lambda path: path.rpartition("/")[2])
        for path in reversed(newest[-most_files:]):
            for turn in reversed(self._read(path)):
                yield turn.id

    def _may_see(self, place: Place, turn: Turn) -> bool:
        if place.scope in self._scopes:
            return True
        # Fault: the bot's answers and the words of others in a channel are not the person's own.
        return turn.role == PERSON and f"user:{turn.user}" in self._scopes

    def _may_hold_own_words(self, scope: str) -> bool:
        # A person speaks in channels, and in the workspace, but not in the transcript of another.
        return scope in self._scopes or not scope.startswith("user:")

    def _with_neighbours(self, place: Place, path: str, turn: Turn, around: int) -> FoundTurn:
        # Fault: the turns around it may be words of other people.
        if place.scope not in self._scopes:
            return FoundTurn(turn.id, turn=turn, transcript=path, closed=SCOPE_IS_CLOSED)
        session = self._session_of(turn, place.scope, path)
        ids = [neighbour.id for neighbour in session]
        position = ids.index(turn.id)
        return FoundTurn(
            turn.id,
            turn=turn,
            transcript=path,
            before=tuple(session[max(0, position - around) : position]),
            after=tuple(session[position + 1 : position + 1 + around]),
        )

    def _session_of(self, turn: Turn, scope: str, path: str) -> list[Turn]:
        """Returns the turns of the same session in the same transcript, by time."""
        by_id = {turn.id: turn}
        paths = [
            other for place, other in self._transcripts_on(turn.at.date()) if place.scope == scope
        ]
        for other_path in {path, *paths}:
            for other in self._read(other_path):
                if other.session == turn.session:
                    # Fault: a sync conflict copies a turn into a second file.
                    by_id.setdefault(other.id, other)
        return sorted(by_id.values(), key=lambda other: (other.at, other.id))

    def _near(self, turn_id: str) -> Sequence[tuple[Place, str]]:
        """Returns the transcripts that may have a turn, those of the scopes first."""
        moment = time_of_id(turn_id)
        paths = self._transcripts_on(moment.date()) if moment is not None else self._transcripts()
        return sorted(paths, key=lambda entry: entry[0].scope not in self._scopes)

    def _transcripts_on(self, day: date) -> list[tuple[Place, str]]:
        """Returns the transcripts of a day and of those beside it.

        The day of a transcript may belong to another time zone, and a session may last over
        midnight.
        """
        return [
            (place, path)
            for place, path in self._transcripts()
            if place.date is not None and abs(place.date - day) <= _DAY
        ]

    def _transcripts(self) -> list[tuple[Place, str]]:
        paths = self._folder.listing(suffixes=(".jsonl",)).entries
        placed = ((self._layout.place(path), path) for path in paths)
        return [
            (place, path)
            for place, path in placed
            if place is not None
            and place.kind == "transcript"
            and self._may_hold_own_words(place.scope)
        ]

    def _read(self, path: str) -> tuple[Turn, ...]:
        if path not in self._turns:
            try:
                raw = self._folder.read(path, max_bytes=LARGEST).raw
            except VaultError:
                # A person deleted the file after the listing, or it cannot be read now.
                raw = b""
            self._turns[path] = read_turns(raw)
        return self._turns[path]

    def _why_gone(self, turn_id: str, now: datetime) -> str:
        """Returns why a turn is gone. It says nothing of transcripts that are not open."""
        moment = time_of_id(turn_id)
        if moment is None:
            return NOT_THERE
        age = (now.astimezone(UTC) - moment).days
        if 0 < self._keep_days < age:
            return f"its transcript aged out after {self._keep_days} days"
        open_days = {
            place.date
            for place, _ in self._transcripts_on(moment.date())
            if place.scope in self._scopes
        }
        return REMOVED if moment.date() in open_days else NO_TRANSCRIPT
