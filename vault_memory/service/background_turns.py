"""The turns of sync, nights and embedding of one vault of a host, each on the threads of its kind."""

import time
from collections.abc import Callable

from vault_memory.service.host_view import Lanes
from vault_memory.service.resident import UNFINISHED_SECONDS, Resident
from vault_memory.service.turn_lane import NEVER, TurnJob, TurnLane

NIGHT_CHECK_SECONDS = 2.0
"""Time from the last turn of a conversation to the check for what it asks for"""


class BackgroundTurns:
    """They begin when the vault is opened, and end before it is closed. Any thread may use it."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._resident: Resident | None = None
        self._jobs: tuple[tuple[TurnLane, TurnJob], ...] = ()
        self._night_at = 0.0
        """When the nights are due although nothing is said, by the monotonic clock"""

    @property
    def is_running(self) -> bool:
        """Whether a turn is taken now."""
        return any(job.is_running for _, job in self._jobs)

    def begin(self, resident: Resident) -> None:
        """Takes the turns of a vault that was opened. The first ones still have to be planned."""
        self._resident = resident
        if resident.upkeep is None:
            return
        turns: list[tuple[TurnLane, Callable[[], float]]] = []
        if resident.embeds:
            turns.append((self._lanes.embedding, self._embedding_turn))
        if resident.syncing.has_remote:
            turns.append((self._lanes.sync, self._sync_turn))
        if resident.has_nights:
            turns.append((self._lanes.nights, self._night_turn))
        self._jobs = tuple((lane, TurnJob(turn)) for lane, turn in turns)

    def end(self) -> bool:
        """Withdraws all turns that are planned. Returns False while one runs: nothing ends then."""
        if not all(lane.withdraw(job) for lane, job in self._jobs):
            for lane, job in self._jobs:
                lane.plan(job, 1.0)
            return False
        self._jobs = ()
        self._resident = None
        return True

    # --- Plans ---

    def plan_all(self) -> None:
        """Makes a turn of each kind due."""
        for lane, job in self._jobs:
            lane.plan(job)

    def plan_sync(self) -> None:
        """Makes a turn of the sync due."""
        self._plan(self._lanes.sync)

    def plan_embedding(self) -> None:
        """Makes a turn of the embedding due."""
        self._plan(self._lanes.embedding)

    def plan_night(self) -> None:
        """Lets the nights look soon at what a request may have recorded."""
        self._plan(self._lanes.nights, NIGHT_CHECK_SECONDS)

    def _plan(self, lane: TurnLane, seconds: float = 0.0) -> None:
        for own_lane, job in self._jobs:
            if own_lane is lane:
                lane.plan(job, seconds)

    # --- Due times ---

    def has_work(self, resident: Resident) -> bool:
        """Whether a turn runs, or is due soon and has something to do."""
        now = time.monotonic()
        for lane, job in self._jobs:
            if job.is_running:
                return True
            is_check = lane is self._lanes.nights and now < self._night_at
            if is_check and not resident.has_news():
                continue
            if job.due < now + UNFINISHED_SECONDS:
                return True
        return False

    def seconds_to_night(self) -> float:
        """Returns the seconds until the nights are due; 0 or less when they are due now."""
        return self._night_at - time.monotonic()

    # --- The turns ---

    def _sync_turn(self) -> float:
        resident = self._resident
        if resident is None:
            return NEVER
        seconds: float = resident.syncing.turn()
        return seconds

    def _embedding_turn(self) -> float:
        resident = self._resident
        if resident is None:
            return NEVER
        return resident.embedding_turn()

    def _night_turn(self) -> float:
        resident = self._resident
        if resident is None:
            return NEVER
        now = time.monotonic()
        # Each request plans this turn. Most say nothing that a night could learn from.
        if now < self._night_at and not resident.has_news():
            return self._night_at - now
        seconds = max(NIGHT_CHECK_SECONDS, resident.night_turn())
        self._night_at = time.monotonic() + seconds
        return seconds
