"""When to ask the server, when to take local edits there, how long to leave alone what fails. It has no clock."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vault_memory.remote.remote_errors import RemoteBusy, Unauthorised
from vault_memory.sync.observe.local_scan import BEING_SAVED
from vault_memory.sync.pass_report import PassReport
from vault_memory.sync.sync_errors import AnotherClient, NotTwoWay

SETTLE_SECONDS = 0.6
"""After a hint of a local edit: whoever saves is done by then"""
LATEST_SECONDS = 2.0
"""After the first hint, an edit is looked at though there are more"""
IDLE_AFTER = 3600.0
IDLE_POLL = 60.0
LONGEST = 300.0
"""Between two tries of a server that does not answer"""
LONGEST_ASKED = 3600.0
"""The same if the server says how long"""
FIRST = 5.0
EARLY_SECONDS = 300.0
"""For so long a failure is taken for one that is soon over"""
LONGEST_EARLY = 12.0
"""Between two tries meanwhile; with the greatest draw that is 15 s"""
STOPPED = {Unauthorised: 3600.0, AnotherClient: 60.0, NotTwoWay: 3600.0}
"""What only a person can change, and when it is looked at again all the same"""
NEVER = float("inf")


class SyncBackoff:
    """Times are seconds of a clock that only goes on."""

    def __init__(
        self, poll_seconds: float, now: float, draw: Callable[[], float] = random.random
    ) -> None:
        self._poll, self._draw = poll_seconds, draw
        self._ask, self._push, self._heard = now, NEVER, NEVER
        self._barred = now
        self._changed = now
        self._failures = self._looks = 0
        self._failing_since = now
        self._asked = False

    def heard(self, now: float) -> None:
        """Something in the vault may have changed."""
        self._heard = min(self._heard, now)
        self._push = min(now + SETTLE_SECONDS, self._heard + LATEST_SECONDS)

    def ask_by(self, at: float) -> None:
        """The server is to be listed at this time, or before."""
        self._ask = min(self._ask, at)

    def next(self) -> tuple[float, bool]:
        """When the next pass is due, and whether the server is to be listed in it."""
        if self._push < self._ask and self._asked:
            return max(self._push, self._barred), False
        return max(self._ask, self._barred), True

    def begin(self) -> None:
        """A pass begins: what was heard so far is in it."""
        self._push = self._heard = NEVER

    def done(self, report: PassReport, now: float, *, asked: bool) -> None:
        """A pass ended."""
        self._failures, self._barred = 0, now
        self._asked = self._asked or asked
        if report.acted:
            self._changed = now
        if asked:
            idle = now - self._changed >= IDLE_AFTER
            self._ask = now + (max(self._poll, IDLE_POLL) if idle else self._poll) * (
                0.95 + 0.1 * self._draw()
            )
        if report.acted or not report.waiting:
            self._looks = 0
        if not report.waiting:
            return
        soon = now + min(self._poll, SETTLE_SECONDS * 2 ** min(self._looks, 8))
        self._looks += 1
        if all(reason == BEING_SAVED for _, reason in report.waiting):
            self._push = min(self._push, soon)
        else:
            self.ask_by(soon)

    def failed(self, error: Exception, now: float) -> None:
        """A pass ended because of something that concerns all of the server."""
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self._barred = now + self._pause(error, now - self._failing_since)

    def _pause(self, error: Exception, age: float) -> float:
        for kind, seconds in STOPPED.items():
            if isinstance(error, kind):
                return seconds
        if isinstance(error, RemoteBusy) and error.retry_after is not None:
            asked = min(max(error.retry_after, 1.0), LONGEST_ASKED)
            return asked * (1.0 + 0.1 * self._draw())
        wait = min(
            min(FIRST, self._poll) * 2 ** min(self._failures - 1, 10),
            _longest(age, LONGEST),
        )
        return float(wait * (0.75 + 0.5 * self._draw()))


def _longest(age: float, limit: float) -> float:
    """The longest pause for what has failed for so long: short in the first minutes, then half of that time."""
    return LONGEST_EARLY if age < EARLY_SECONDS else min(age / 2, limit)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A path that failed, and until when it is left alone."""

    reason: str
    since: float
    until: float


class PathBackoff:
    """Paths that failed, each left alone for seconds, after some minutes for longer, at last for an hour.

    A change on the server ends the pauses: whatever held a path there may be over.
    """

    def __init__(self, draw: Callable[[], float] = random.random) -> None:
        self._draw = draw
        self._failures: dict[str, _Failure] = {}

    def at(self, now: float) -> Mapping[str, str]:
        """The paths that rest, with the reasons they failed for."""
        return {
            path: failure.reason
            for path, failure in self._failures.items()
            if now < failure.until
        }

    def start_again(self, now: float) -> None:
        """The folder on the server has changed: all paths are tried at once, and their pauses begin anew."""
        self._failures = {
            path: _Failure(failure.reason, now, now)
            for path, failure in self._failures.items()
        }

    def note(self, failed: Mapping[str, str], now: float) -> None:
        """What a pass failed on; what it did not fail on any more is forgotten."""
        rested = self.at(now)
        failures = {path: self._failures[path] for path in rested}
        for path, reason in failed.items():
            if path not in rested:
                failures[path] = self._after(self._failures.get(path), reason, now)
        self._failures = failures

    def next(self) -> float:
        """When the first of them is tried again."""
        return min(
            (failure.until for failure in self._failures.values()), default=NEVER
        )

    def _after(self, before: _Failure | None, reason: str, now: float) -> _Failure:
        since = now if before is None else before.since
        longest = _longest(now - since, LONGEST_ASKED)
        wait = min(FIRST, longest) if before is None else longest
        return _Failure(reason, since, now + wait * (0.75 + 0.5 * self._draw()))
