"""The files of a vault's state folder, and which of them must survive the machine.

A test compares the table with the files that the tests of the program leave behind. A file that no
row names fails it, so that a decision about a new file is never forgotten.
"""

import re
from functools import cache
from typing import Literal, NamedTuple

Treatment = Literal["keep", "derive", "never"]
"""keep: part of the bundle; derive: made again from the vault, the home or the ledger; never: of
this machine or secret"""
Form = Literal["bytes", "timed", "sqlite", "config"]
"""How a file is read: as it is, together with its time, as a consistent copy of a database, or
without its secrets"""


class StateFile(NamedTuple):
    """A row of the table."""

    pattern: str
    """Path relative to the state folder; ``*`` is any text in one name, ``**`` any path"""
    treatment: Treatment
    reason: str
    form: Form = "bytes"


TABLE = (
    # Names that may occur anywhere come first: the first row that fits decides.
    StateFile("**.lock", "never", "locks out other processes of this machine"),
    StateFile("**.new", "never", "half of a file that is being replaced"),
    StateFile(".copy-*/**", "never", "a copy of a database that is being packed"),
    StateFile("**-wal", "never", "belongs to its database, which is copied as a whole"),
    StateFile("**-shm", "never", "belongs to its database, which is copied as a whole"),
    StateFile("**-journal", "never", "belongs to its database, which is copied"),
    StateFile(
        "**.damaged-*",
        "never",
        "was set aside on this machine; its readable rows are in the new file",
    ),
    # What people and the bot did, and what is not in the notes.
    StateFile(
        "journal.sqlite",
        "keep",
        "pending writes, versions of notes, trash, last audit records",
        "sqlite",
    ),
    StateFile("sessions/*/*", "keep", "open and ended conversations", "timed"),
    StateFile("nights/**", "keep", "what was read, open nights, reports"),
    StateFile("drop/**", "keep", "turns that are not recorded yet, and rejected lines"),
    StateFile("reads.jsonl", "keep", "which items were found: they fade more slowly"),
    StateFile("usage.jsonl", "keep", "tokens that were spent: the budget of the month"),
    StateFile("web-seen.json", "keep", "what a person has seen on the page"),
    StateFile("talk.json", "keep", "messages of rooms that are recorded already"),
    StateFile("devices", "keep", "other devices that write to the vault"),
    # How the vault is set up.
    StateFile(
        "vault-memory.toml",
        "keep",
        "the configuration, without remotes and tokens: the host has them",
        "config",
    ),
    StateFile("vault-memory.toml*", "never", "a backup or a trial of an edit"),
    StateFile("layout.json", "keep", "the layout that the program chose"),
    StateFile("phrases/**", "keep", "phrases of the person for what to remember"),
    StateFile("prompts/**", "never", "prompts are the operator's: the host has them"),
    # What the program makes again.
    StateFile("index/**", "derive", "from the notes"),
    StateFile("reading/**", "derive", "notes that are being parsed on this machine"),
    StateFile("as-of-*/**", "derive", "an index of a past day"),
    StateFile("as-of-*", "derive", "an index of a past day"),
    StateFile("brain.json", "derive", "a test of the model that the host uses"),
    StateFile("place.json", "derive", "the path of the folder on this machine"),
    StateFile("had-files", "derive", "whether the folder on this machine had files"),
    StateFile("unmarked", "derive", "whether the folder on this machine has a marker"),
    # Fault: two holders with two names would write two logs, and replay a turn under
    # another name. So the name is made from the vault's id.
    StateFile("device", "derive", "from the id of the vault"),
    # Fault: it says which bytes the folder beside it and the home had in common. Beside
    # other files, each older file would look like a new edit.
    StateFile("sync.sqlite", "derive", "by the first pass; describes one scratch"),
    StateFile("sync.json", "derive", "by the next pass"),
    StateFile("sync.json.*", "never", "half of a file that is being replaced"),
    # What belongs to this machine.
    StateFile("daemon.sock", "never", "the socket of a process"),
    StateFile("daemon.pid", "never", "the id of a process"),
    StateFile("*.log", "never", "a log of this machine"),
    StateFile("*.log.*", "never", "a log of this machine"),
    StateFile("starts", "never", "when programs of this machine last started"),
    StateFile("starts/**", "never", "when programs of this machine last started"),
    StateFile("projects.json", "never", "folders of this machine"),
    StateFile("hosts.json", "never", "programs of this machine that were set up"),
    StateFile("drafts/**", "never", "texts open in an editor of this machine"),
    StateFile("remote-password", "never", "a secret"),
    StateFile("web.json", "never", "where the page runs"),
    StateFile("web-open.html", "never", "opens the page that runs"),
    StateFile("web-sessions.json", "never", "secrets of browsers"),
)


def row_of(path: str) -> StateFile | None:
    """The row that decides about a path relative to the state folder; None: no row does."""
    return next((row for row in TABLE if _regex(row.pattern).fullmatch(path)), None)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    wild = {"**": ".*", "*": "[^/]*"}
    tokens = re.split(r"(\*\*|\*)", pattern)
    return re.compile("(?s)" + "".join(wild.get(t) or re.escape(t) for t in tokens))
