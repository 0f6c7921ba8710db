"""Merges texts that an upload of this device overwrote unseen into the vault; the next pass uploads them."""

from collections.abc import Sequence
from datetime import datetime

from vault_memory.sync.apply.line_history import recent_forms
from vault_memory.sync.apply.own_writes import NOTHING, Overwrite
from vault_memory.sync.apply.progress import PassResult
from vault_memory.sync.apply.session import RECORDS, TEXT, ActionOutdated, SyncSession
from vault_memory.sync.plan.awareness import SentText, common_text, join_records
from vault_memory.sync.plan.name_clashes import beside
from vault_memory.sync.plan.safety_limits import stamp
from vault_memory.vault.reader import Note

_SAME_MOMENT = "another program stored it at the same moment as this device"
JOINED = f"{_SAME_MOMENT}; the note has both texts now"
ASIDE = f"{_SAME_MOMENT}; its text is in `{{copy}}`"
LEFT = (
    "this device overwrote a text that another program had just stored; "
    "the server's versions have it"
)


class UnseenMerge:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session

    def take_over(
        self, overwrite: Overwrite, unseen: Sequence[bytes], result: PassResult, now: datetime
    ) -> None:
        """Merge unseen texts into the note, or write a copy of each. Raises ActionOutdated."""
        path = overwrite.path
        if not self._session.writes_here:
            result.notes.append((path, LEFT))
            return
        merged: bytes | None = None
        note: Note | None = None
        if path.endswith((*TEXT, *RECORDS)):
            local = self._session.local.read(path)
            if isinstance(local, Note):
                note = local
                merged = self._merged(overwrite, note.raw, unseen, now)
        if note is None or merged is None:
            self._write_copies(path, unseen, result, now)
            return
        if merged != note.raw:
            outcome = self._session.write_local(path, merged, note.revision, now)
            if outcome == "copied":
                raise ActionOutdated
        for text in unseen:
            self._session.record_version(path, text, now, by="sync")
        self._session.record_version(path, merged, now, by="sync")
        result.merged.append(path)
        result.acted += 1
        result.notes.append((path, JOINED))

    def _merged(
        self, overwrite: Overwrite, local: bytes, unseen: Sequence[bytes], now: datetime
    ) -> bytes | None:
        """The local text with all unseen ones; None when they cannot be merged."""
        merged: bytes | None = local
        for text in unseen:
            if merged is None:
                return None
            merged = self._merged_with(overwrite, merged, text, now)
        return merged

    def _merged_with(
        self, overwrite: Overwrite, local: bytes, theirs: bytes, now: datetime
    ) -> bytes | None:
        """Two texts merged; None when they cannot be."""
        if overwrite.path.endswith(RECORDS):
            return join_records([local, theirs])
        date = f"{now:%Y-%m-%d}"
        base: bytes | None = None
        if overwrite.base != NOTHING.hash:
            base = self._session.sent_bytes(overwrite.base)
        if base is not None:
            # Fault: some clients send no precondition, and base their text on an older version than
            # the one that we replaced. The lines that it lacks came later, and were not removed.
            base = common_text(SentText(base, base), theirs, date)
        forms = recent_forms(self._session, overwrite.path, now)
        return forms.merge(base, local, theirs, date)

    def _write_copies(
        self, path: str, unseen: Sequence[bytes], result: PassResult, now: datetime
    ) -> None:
        state = self._session.state
        for text in unseen:
            used_names = {*state.hashes(), *state.base(), *result.conflicts}
            label = f"memory copy {stamp(now, None)} server"
            copy = beside(path, label, used_names)
            if self._session.write_local(copy, text, None, now) == "copied":
                raise ActionOutdated
            result.conflicts.append(copy)
            result.acted += 1
            result.notes.append((path, ASIDE.format(copy=copy)))
