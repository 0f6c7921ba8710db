"""Checks that the server is the same as before.

Sync does nothing with another server. To a server that was restored from a backup, it uploads what
the server lost.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict

from vault_memory.remote.capabilities import is_scratch
from vault_memory.remote.contract import Entry, Remote
from vault_memory.sync.actions import Download, TrashLocal
from vault_memory.sync.plan.planner import SyncPlan
from vault_memory.sync.settings import Mode
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.sync_errors import NotTwoWay
from vault_memory.sync.trees import BaseFile, BaseNode

logger = logging.getLogger(__name__)

HOUR_SECONDS = 3600.0
MANY = 3
"""More downloads at once may come from a server that was restored from a backup"""
RESTORED = "fingerprint"
"""The part of the identity that changes when a server is restored from a backup"""
TIDIED = "tidied"
"""Key of the sync state: when scratch folders were last removed"""


class ServerIdentityCheck:
    """Checks the identity of one remote: with each listing, and again before a plan takes over much from it."""

    def __init__(self, remote: Remote, state: SyncState, mode: Mode, *, insist: bool) -> None:
        self._remote = remote
        self._state = state
        self._mode = mode
        self._insist = insist
        self._has_capabilities = False
        self._asked_at: float | None = None
        self._changed: list[str] = []
        """the parts of the identity that differ"""

    def load_capabilities(self) -> None:
        """Find out once what the server can do. Raises NotTwoWay."""
        if self._has_capabilities:
            return
        traits = self._remote.traits
        stored = self._state.meta("traits")
        if isinstance(stored, dict) and stored.keys() == asdict(traits).keys():
            self._remote.traits = type(traits)(**stored)
        else:
            self._remote.probe()
        is_two_way = self._remote.traits.two_way or self._insist
        if self._mode == "both" and not is_two_way:
            # Fault (E102): without preconditions an upload overwrites an edit of
            # another device.
            raise NotTwoWay
        with self._state.transaction():
            self._state.set_meta("traits", asdict(self._remote.traits))
        self._has_capabilities = True

    def difference(
        self, at: float, entries: Mapping[str, Entry], root: Entry | None, *, approved: bool
    ) -> str:
        """The reason to do nothing with this server, or nothing.

        `root` is the remote's own folder from the latest listing; without it, the server is asked once
        an hour. `approved`: a person confirmed that it is the right server.
        """
        last = self._asked_at
        is_due = last is None or not 0 <= at - last < HOUR_SECONDS
        if root is not None or is_due or approved:
            self._ask(entries, root, approved=approved)
            self._asked_at = at
        # Fault (E95): another account has an empty home. Everything here would count as
        # deleted there.
        if self._changed:
            return f"the server is not as it was: another {', '.join(self._changed)}"
        if any(is_scratch(path) for path in entries):
            self._tidy(at)
        return ""

    def must_ask_again(self, at: float, plan: SyncPlan) -> bool:
        """Whether a plan takes over so much that the server's identity is asked again; forgets the last answer."""
        # Fault (E94, E95): the server is replaced or restored between the question and
        # the listing.
        deletes = [action for action in plan.actions if isinstance(action, TrashLocal)]
        downloads = [action for action in plan.actions if isinstance(action, Download)]
        is_much = bool(plan.restored or deletes) or len(downloads) > MANY
        # One listing of the whole tree reported the identity together with all entries.
        is_one_answer = self._asked_at == at and self._remote.traits.infinity
        if is_one_answer or not is_much:
            return False
        self._asked_at = None
        return True

    def _tidy(self, at: float) -> None:
        """Remove the scratch folders of interrupted probes, once an hour."""
        last = self._state.meta(TIDIED)
        if isinstance(last, float) and 0 <= at - last < HOUR_SECONDS:
            return
        self._remote.tidy()
        with self._state.transaction():
            self._state.set_meta(TIDIED, at)

    def _ask(self, entries: Mapping[str, Entry], root: Entry | None, *, approved: bool) -> None:
        """Compare the server's identity with the stored one."""
        identity = asdict(self._remote.identity(root))
        stored = self._state.meta("identity")
        previous = stored if isinstance(stored, dict) else identity
        self._changed = [name for name, value in identity.items() if previous.get(name) != value]
        if self._changed == [RESTORED]:
            # Fault (E94): files that the restored server lost would count as deleted.
            logger.warning(
                "the server was restored from a backup: nothing is deleted, what it lost is uploaded"
            )
            self._forget_all_but(entries)
            self._changed = []
        elif approved and self._changed:
            self._forget_all_but({})
            self._changed = []
        if not self._changed and identity != stored:
            with self._state.transaction():
                self._state.set_meta("identity", identity)

    def _forget_all_but(self, entries: Mapping[str, Entry]) -> None:
        """Forget the base of files that the server does not have unchanged: they count as new."""
        with self._state.transaction():
            for path, was in self._state.base().items():
                entry = entries.get(path)
                if entry is None or _is_edited(was, entry):
                    self._state.forget(path)


def _is_edited(was: BaseNode, entry: Entry) -> bool:
    return isinstance(was, BaseFile) and entry.etag != was.tag
