"""What became of a write, for whoever asked for it."""

from dataclasses import dataclass
from typing import Literal

from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.wait_reasons import WORDS


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of a write."""

    op_id: str
    path: str
    """The note that was written: the target of a link"""
    outcome: Literal["written", "merged", "copied", "unchanged", "trashed", "pending"]
    reason: str
    """Why it waits, in one word; "" when it does not"""
    before: str | None
    """Revision that was replaced"""
    after: str | None
    """Revision that was put in place; an editor may have saved since"""

    @property
    def explanation(self) -> str:
        """Why it waits, for a person."""
        return WORDS.get(self.reason, self.reason)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def of(cls, write: PendingWrite) -> "WriteResult":
        """Returns the state of a write."""
        is_done = write.phase == "done"
        outcome = (write.outcome or "unchanged") if is_done else "pending"
        return cls(
            write.op_id,
            write.path,
            outcome,
            write.reason,
            write.expected,
            write.after,
        )
