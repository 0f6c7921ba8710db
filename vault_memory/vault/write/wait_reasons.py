"""Reasons why a write waits: one word for programs, one line for people."""

from typing import Literal

from vault_memory.errors import NoteNotWritable

Reason = Literal[
    "hot",
    "truncated",
    "in_editor",
    "absent",
    "hard_link",
    "read_only",
    "not_ours",
    "attributes",
    "no_space",
    "unreadable",
    "no_file",
    "outside",
    "conflict",
    "file_system",
    "io_error",
    "interrupted",
    "busy",
    "other_device",
]

WORDS: dict[Reason, str] = {
    "hot": "another program is changing the note now",
    "truncated": "the note looks like half a save",
    "in_editor": "an editor has the note open",
    "absent": "the note or its folder does not exist",
    "hard_link": "the note has a second name (hard link), which the write would cut off",
    "read_only": "the note or its folder may not be written",
    "not_ours": "the note belongs to another user",
    "attributes": "the note's owner or attributes could not be kept",
    "no_space": "there is too little space on the vault's disk",
    "unreadable": "the note cannot be read",
    "no_file": "it is not a plain file",
    "outside": "it is a link that leads out of the vault",
    "conflict": "no name for a conflict copy is free",
    "file_system": "the file system offers no safe way to replace a file",
    "io_error": "the disk reported an error",
    "interrupted": "the write was interrupted",
    "busy": "the note changed again and again while it was written",
    "other_device": "another device is editing this vault now",
}

LASTING: tuple[Reason, ...] = (
    "hard_link",
    "read_only",
    "not_ours",
    "attributes",
    "no_file",
    "outside",
    "file_system",
)
"""The reasons that stay until a person removes them"""


def refuse_lasting(path: str, reason: str) -> None:
    """Raise NoteNotWritable for a reason that only a person can remove."""
    # Fault: a read-only note is fetched in each pass, and nothing says why it waits.
    for lasting in LASTING:
        if lasting == reason:
            raise NoteNotWritable(path, WORDS[lasting])
