"""Why a cycle edits a note, for the policy of edits and for the audit log."""

from typing import NamedTuple


class EditCause(NamedTuple):
    """Whose act an edit is, and the reason."""

    source: str = "nightly"
    why: str = ""
    """empty: the night or the conversation, and the model that answered"""
    origin: str = "owner"


BY_NIGHT = EditCause()
