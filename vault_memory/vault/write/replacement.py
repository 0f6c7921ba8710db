"""A new text for a note, as a caller gives it to the writer."""

from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import By, PendingWrite


@dataclass(frozen=True, slots=True)
class Replacement:
    """The bytes that a note shall have, and the version that they were made from."""

    path: str
    content: bytes = field(repr=False)
    _: KW_ONLY
    expected: str | None
    """Revision that `content` was made from; None for a new note"""
    op_id: str
    """A second write with the same id has no effect"""
    quiet: float = 0.3
    """Seconds for which no other program may have changed the note"""
    record: bytes = field(default=b"", repr=False)
    """`Writer.finished` returns it until it is acknowledged, also after a crash"""
    by: By = "bot"
    """Author that the history names"""

    def as_write(self, now: datetime) -> PendingWrite:
        """Returns the row of the journal for a write that begins now."""
        return PendingWrite(
            self.op_id,
            self.path,
            "ours",
            self.expected,
            revision_of(self.content),
            now.timestamp(),
            stamp(now),
            self.quiet,
            self.record,
            by=self.by,
        )


def stamp(now: datetime) -> str:
    """Returns date and time for the name of a conflict copy."""
    return f"{now:%Y-%m-%d %H%M%S}"
