"""What a pass has done so far."""

from dataclasses import dataclass, field

COMPARED_AGAIN = "the next pass compares it again"


@dataclass(slots=True)
class PassResult:
    """What was done in a pass."""

    uploaded: list[str] = field(default_factory=list)
    downloaded: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    deleted_local: list[str] = field(default_factory=list)
    deleted_remote: list[str] = field(default_factory=list)
    renamed_local: list[str] = field(default_factory=list)
    """files by their old paths, also those in a renamed folder"""
    renamed_remote: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    """copies of texts that could not be merged"""
    failed: dict[str, str] = field(default_factory=dict)
    """paths with a failed action, and why"""
    refused: dict[str, str] = field(default_factory=dict)
    """new paths that the server will never accept as they are, and why"""
    outdated: set[str] = field(default_factory=set)
    """paths that the next pass compares again"""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """for a person to review: path and text"""
    acted: int = 0
