"""Is the server the one it was? Another one is only looked at; one that came back from a backup gets what it lost."""

import logging
from collections.abc import Mapping
from dataclasses import asdict

from vault_memory.remote.capabilities import is_scratch
from vault_memory.remote.contract import Entry, Remote
from vault_memory.sync.actions import Download, TrashLocal
from vault_memory.sync.plan.planner import Plan
from vault_memory.sync.settings import Mode
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.sync_errors import NotTwoWay
from vault_memory.sync.trees import BaseFile

logger = logging.getLogger(__name__)

HOUR_SECONDS = 3600.0
MANY = 3
"""More downloads at once than that may come from a backup"""
RESTORED = "fingerprint"
TIDIED = "tidied"
"""Under which the book keeps when scratch folders were last looked after"""


class ServerIdentityCheck:
    """For one remote. What it is comes with each listing, and is asked again before much is taken over from it."""

    def __init__(
        self, remote: Remote, state: SyncState, mode: Mode, *, insist: bool
    ) -> None:
        self._remote, self._state, self._mode, self._insist = (
            remote,
            state,
            mode,
            insist,
        )
        self._met = False
        """whether it is known what the server can do"""
        self._asked: float | None = None
        self._changed: list[str] = []

    def begin(self) -> None:
        """Find out what the server honours, once. Raises NotTwoWay."""
        if self._met:
            return
        known = self._state.meta("traits")
        if (
            isinstance(known, dict)
            and known.keys() == asdict(self._remote.traits).keys()
        ):
            self._remote.traits = type(self._remote.traits)(**known)
        else:
            self._remote.probe()
        if (
            self._mode == "both"
            and not self._remote.traits.two_way
            and not self._insist
        ):
            raise NotTwoWay
        with self._state.transaction():
            self._state.set_meta("traits", asdict(self._remote.traits))
        self._met = True

    def another(
        self,
        at: float,
        entries: Mapping[str, Entry],
        root: Entry | None,
        *,
        approved: bool,
    ) -> str:
        """Why nothing may be done with it, or nothing. `approved`: a person says that it is the right one.

        `root` is the remote's own folder as it was just listed; without it the server is asked now and then.
        """
        is_due = self._asked is None or not 0 <= at - self._asked < HOUR_SECONDS
        if root is not None or is_due or approved:
            self._ask(entries, root, approved=approved)
            self._asked = at
        if not self._changed and any(is_scratch(path) for path in entries):
            self._tidy(at)
        return (
            f"the server is not as it was: another {', '.join(self._changed)}"
            if self._changed
            else ""
        )

    def worth_asking(self, at: float, made: Plan) -> bool:
        """Whether a plan takes over so much that the server is asked once more who it is; forgets the last answer."""
        grave = [one for one in made.actions if isinstance(one, TrashLocal | Download)]
        much = (
            bool(made.restored)
            or len(grave) > MANY
            or any(isinstance(one, TrashLocal) for one in grave)
        )
        is_one_answer = (
            self._remote.traits.infinity
        )  # which told who the server is and all that lies there
        if (self._asked == at and is_one_answer) or not much:
            return False
        self._asked = None
        return True

    def _tidy(self, at: float) -> None:
        """Scratch folders of killed probes, looked after once an hour."""
        last = self._state.meta(TIDIED)
        if not (isinstance(last, float) and 0 <= at - last < HOUR_SECONDS):
            self._remote.tidy()
            with self._state.transaction():
                self._state.set_meta(TIDIED, at)

    def _ask(
        self, entries: Mapping[str, Entry], root: Entry | None, *, approved: bool
    ) -> None:
        identity, known = (
            asdict(self._remote.identity(root)),
            self._state.meta("identity"),
        )
        was = known if isinstance(known, dict) else identity
        self._changed = [
            name for name, value in identity.items() if was.get(name) != value
        ]
        if self._changed == [RESTORED]:
            logger.warning(
                "the server came back from a backup: nothing is deleted, what it lost is uploaded"
            )
            self._forget_all_but(entries)
            self._changed = []
        elif approved and self._changed:
            self._forget_all_but({})
            self._changed = []
        if not self._changed and identity != known:
            with self._state.transaction():
                self._state.set_meta("identity", identity)

    def _forget_all_but(self, entries: Mapping[str, Entry]) -> None:
        """What was agreed on holds only where the server still has it: all else is new on one side or both."""
        with self._state.transaction():
            for path, was in self._state.base().items():
                entry = entries.get(path)
                if entry is None or (
                    isinstance(was, BaseFile) and entry.etag != was.tag
                ):
                    self._state.forget(path)
