"""Threads that take the turns of many vaults: each job one turn at a time, the longest due first."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

logger = logging.getLogger(__name__)

NEVER = float("inf")
AT_ONCE = float("-inf")
"""Seconds until a turn that somebody waits for: it comes before those that only are due"""
LONG_SECONDS = 0.1
"""A job whose last turn took so long gets no more than half of the threads"""
BUG_SECONDS = 60.0
"""Pause of a job after an error that is a bug"""
FEWEST_ENTRIES = 1024
"""A heap with fewer entries is not searched for outdated ones"""


class TurnJob:
    """The turns of one kind for one vault. `take_turn` returns the seconds until the next."""

    __slots__ = ("due", "expects_long", "is_long", "is_running", "take_turn")

    def __init__(self, take_turn: Callable[[], float]) -> None:
        self.take_turn = take_turn
        self.due = NEVER
        """When the next turn is due, by the monotonic clock"""
        self.is_running = False
        self.is_long = False
        """Whether the last turn took long, or announced that the next will"""
        self.expects_long = False
        """Whether the next turn will take long; a turn sets it"""


class TurnLane:
    """A bounded number of threads for the jobs of one kind. Any thread may use it."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self._condition = threading.Condition()
        self._heap: list[tuple[float, int, TurnJob]] = []
        """Due time, number and job. An entry whose job is due at another time is outdated"""
        self._postponed: list[TurnJob] = []
        """Long jobs that are due, and wait until another long one has ended"""
        self._most_entries = FEWEST_ENTRIES
        """A heap with more entries is searched for outdated ones"""
        self._numbers = itertools.count()
        self._is_stopped = False
        self._long_running = 0
        self._most_long = max(1, threads // 2)
        self.turns = 0
        """Turns that were taken so far"""
        self._threads = [
            threading.Thread(target=self._run, name=f"{name} {number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def plan(self, job: TurnJob, seconds: float = 0.0) -> None:
        """Makes a job due in so many seconds, unless it is due earlier."""
        due = time.monotonic() + seconds
        with self._condition:
            if due < job.due and not self._is_stopped:
                self._push(job, due)

    def withdraw(self, job: TurnJob) -> bool:
        """Cancels the next turn. Returns False while the job takes a turn: nothing changes then."""
        with self._condition:
            if job.is_running:
                return False
            job.due = NEVER
            return True

    def stop(self) -> None:
        """Lets no further turn begin."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()

    def join(self, seconds: float) -> bool:
        """Waits until all turns have ended. Returns False when some take longer than that."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    # --- The threads ---

    def _run(self) -> None:
        while (job := self._next_job()) is not None:
            began = time.monotonic()
            is_counted = job.is_long
            seconds = self._turn_of(job)
            self._end_turn(job, began, seconds, is_counted=is_counted)

    def _turn_of(self, job: TurnJob) -> float:
        try:
            return job.take_turn()
        except Exception:
            # A bug in the turn of one vault must not end the turns of the others.
            logger.exception("a turn failed")
            return BUG_SECONDS

    def _next_job(self) -> TurnJob | None:
        """Waits for a job that is due. Returns None at the end."""
        with self._condition:
            while not self._is_stopped:
                job = self._take_due()
                if job is not None:
                    return job
                pause = self._heap[0][0] - time.monotonic() if self._heap else None
                self._condition.wait(pause)
        return None

    def _take_due(self) -> TurnJob | None:
        postponed = self._take_postponed()
        if postponed is not None:
            return self._begin(postponed)
        now = time.monotonic()
        while self._heap and self._heap[0][0] <= now:
            due, _, job = heapq.heappop(self._heap)
            if job.due != due or job.is_running:
                continue
            # Fault: vaults with a lot to read would occupy all threads, and the others
            # would wait.
            if job.is_long and self._long_running >= self._most_long:
                self._postponed.append(job)
                continue
            return self._begin(job)
        return None

    def _take_postponed(self) -> TurnJob | None:
        while self._postponed and self._long_running < self._most_long:
            job = self._postponed.pop(0)
            # It may have been withdrawn, or planned again and taken, since it was postponed.
            if job.due < NEVER and not job.is_running:
                return job
        return None

    def _begin(self, job: TurnJob) -> TurnJob:
        job.is_running = True
        job.due = NEVER
        self._long_running += job.is_long
        self.turns += 1
        return job

    def _end_turn(self, job: TurnJob, began: float, seconds: float, *, is_counted: bool) -> None:
        now = time.monotonic()
        with self._condition:
            self._long_running -= is_counted
            job.is_running = False
            job.is_long = job.expects_long or now - began > LONG_SECONDS
            # A plan that was made during the turn may be earlier.
            due = min(job.due, now + seconds)
            if due < NEVER and not self._is_stopped:
                self._push(job, due)
            if self._postponed:
                self._condition.notify()

    def _push(self, job: TurnJob, due: float) -> None:
        job.due = due
        if job.is_running:
            # The end of the turn puts it into the heap.
            return
        if len(self._heap) >= self._most_entries:
            self._drop_outdated()
        heapq.heappush(self._heap, (due, next(self._numbers), job))
        self._condition.notify()

    def _drop_outdated(self) -> None:
        # Fault: a job that is due in a day and is asked for every minute would leave an entry
        # in the heap each time.
        self._heap = [entry for entry in self._heap if entry[2].due == entry[0]]
        heapq.heapify(self._heap)
        self._most_entries = max(FEWEST_ENTRIES, 2 * len(self._heap))


@dataclass(frozen=True, slots=True)
class Lanes:
    """The threads of a process for each kind of turns."""

    upkeep: TurnLane
    sync: TurnLane
    nights: TurnLane
    embedding: TurnLane

    @classmethod
    def with_threads(cls, upkeep: int, sync: int, nights: int, embedding: int) -> Self:
        """Returns lanes with so many threads each."""
        # Fault: the system may suspend a thread of low priority while it holds the
        # interpreter lock, and all other threads would wait for it. So each thread has the
        # usual priority.
        return cls(
            TurnLane("upkeep", upkeep),
            TurnLane("sync", sync),
            TurnLane("nights", nights),
            TurnLane("embedding", embedding),
        )

    def all(self) -> tuple[TurnLane, ...]:
        """Returns all lanes."""
        return self.upkeep, self.sync, self.nights, self.embedding

    def start(self) -> None:
        """Starts the threads."""
        for lane in self.all():
            lane.start()

    def stop(self) -> None:
        """Lets no further turn begin."""
        for lane in self.all():
            lane.stop()

    def join(self, seconds: float) -> bool:
        """Waits until all turns have ended. Returns False when some take longer than that."""
        until = time.monotonic() + seconds
        return all(lane.join(max(0.0, until - time.monotonic())) for lane in self.all())
