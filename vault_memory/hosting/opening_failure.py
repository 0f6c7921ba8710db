"""Why a vault of a host could not be opened, and when that is tried again."""

import time

RETRY_SECONDS = 5.0
"""Pause after a vault could not be opened; doubled after each further failure"""
LONGEST_RETRY_SECONDS = 3600.0
RECENT_SECONDS = 5.0
"""A request that fails because of a failure so recent is not tried again at once"""


class OpeningFailure:
    """The last failure to open a vault, and how many came in a row; none at first."""

    def __init__(self) -> None:
        self.reason = ""
        """Why the vault could not be opened; empty when it could"""
        self.tries = 0
        """Failures to open it, in a row"""
        self._error: Exception | None = None
        self._failed_at = 0.0

    @property
    def recent_error(self) -> Exception | None:
        """The error that a request gets without another try; None when the vault may be tried."""
        # Fault: each request to a vault that is away would open it again.
        if time.monotonic() - self._failed_at > RECENT_SECONDS:
            return None
        return self._error

    def note(self, error: Exception) -> None:
        """Notes a failure."""
        self.reason, self._error = str(error), error
        self.tries += 1
        self._failed_at = time.monotonic()

    def end(self) -> None:
        """Notes that the vault could be opened."""
        self.reason, self.tries, self._error = "", 0, None

    def allow_try(self) -> None:
        """Lets the next request try again at once: the cause may be gone."""
        self._error = None

    def pause(self) -> float:
        """Returns the seconds from the failure until the next try without a request."""
        doublings = max(0, min(self.tries - 1, 12))
        return min(RETRY_SECONDS * (1 << doublings), LONGEST_RETRY_SECONDS)
