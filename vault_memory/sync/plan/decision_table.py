"""The decision table: for each state of a path in the three trees, its row and its outcome.

=  unchanged since the base     ≠  changed (a directory: a path below is changed or new)  -  absent
F  a file where there was none  D  a directory where there was none  L  a link or special  ?  unknown
A server has no links: other kinds of resources there count as ``?``. A merge of equal bytes is only
recorded (`EQUAL`).
"""

from enum import Enum, auto
from typing import Literal

Was = Literal["file", "dir", "none"]
Now = Literal["=", "≠", "-", "F", "D", "L", "?"]


class Decision(Enum):
    """What becomes of a path. Directories mostly follow from what becomes of their contents."""

    NOTHING = auto()
    REFRESH = auto()
    """nothing but the tag or an id may have to be recorded"""
    UPLOAD = auto()
    DOWNLOAD = auto()
    ADOPT = auto()
    MERGE = auto()
    """with the nearest snapshot; what is not Markdown is kept twice"""
    DELETE_REMOTE = auto()
    TRASH_LOCAL = auto()
    FORGET = auto()
    BRING_BACK = auto()
    """edit beats delete: download"""
    PUT_BACK = auto()
    """edit beats delete: upload"""
    CREATE_REMOTE = auto()
    CREATE_LOCAL = auto()
    COPY_LOCAL = auto()
    """the local file goes beside, and the name is the server's"""
    COPY_REMOTE = auto()
    """the remote file goes beside, and the name is the local one's"""
    ENTER = auto()
    """a directory on both sides: its children decide"""
    EMPTY_REMOTE = auto()
    """the children decide; the collection goes when all of them do"""
    EMPTY_LOCAL = auto()
    SKIP = auto()
    LEAVE = auto()
    """never followed, never uploaded, never replaced"""


O = Decision  # noqa: E741 - so that a row of the table is one line
State = Literal["file", "dir", "none"]
Cell = tuple[str, Decision]


FILE: dict[tuple[str, str], Cell] = {
    # local, remote: row, outcome
    ("=", "="): ("1", O.REFRESH),
    ("=", "≠"): ("3", O.DOWNLOAD),
    ("=", "-"): ("7", O.TRASH_LOCAL),
    ("≠", "="): ("2", O.UPLOAD),
    ("≠", "≠"): ("5", O.MERGE),
    ("≠", "-"): ("10", O.PUT_BACK),
    ("-", "="): ("6", O.DELETE_REMOTE),
    ("-", "≠"): ("9", O.BRING_BACK),
    ("-", "-"): ("8", O.FORGET),
    ("D", "="): ("11", O.DELETE_REMOTE),
    ("D", "≠"): ("13", O.COPY_REMOTE),
    ("D", "-"): ("16", O.CREATE_REMOTE),
    ("=", "D"): ("12", O.TRASH_LOCAL),
    ("≠", "D"): ("14", O.COPY_LOCAL),
    ("-", "D"): ("15", O.CREATE_LOCAL),
    ("D", "D"): ("17", O.ADOPT),
}
NONE: dict[tuple[str, str], Cell] = {
    ("F", "-"): ("21", O.CREATE_REMOTE),
    ("D", "-"): ("21", O.CREATE_REMOTE),
    ("-", "F"): ("22", O.CREATE_LOCAL),
    ("-", "D"): ("22", O.CREATE_LOCAL),
    ("F", "F"): ("24", O.MERGE),
    ("F", "D"): ("25", O.COPY_LOCAL),
    ("D", "F"): ("26", O.COPY_REMOTE),
    ("D", "D"): ("27", O.ADOPT),
    ("-", "-"): ("8", O.NOTHING),
}
DIR: dict[tuple[str, str], Cell] = {
    ("=", "="): ("27", O.ENTER),
    ("=", "≠"): ("27", O.ENTER),
    ("≠", "="): ("27", O.ENTER),
    ("≠", "≠"): ("27", O.ENTER),
    ("-", "="): ("28", O.EMPTY_REMOTE),
    ("-", "≠"): ("29", O.EMPTY_REMOTE),
    ("=", "-"): ("30", O.EMPTY_LOCAL),
    ("≠", "-"): ("31", O.EMPTY_LOCAL),
    ("F", "="): ("32", O.EMPTY_REMOTE),
    ("F", "-"): ("32", O.CREATE_REMOTE),
    ("F", "≠"): ("33", O.COPY_LOCAL),
    ("=", "F"): ("34", O.EMPTY_LOCAL),
    ("-", "F"): ("34", O.CREATE_LOCAL),
    ("≠", "F"): ("34a", O.COPY_REMOTE),
    ("F", "F"): ("34b", O.MERGE),
    ("-", "-"): ("35", O.FORGET),
}


EQUAL: dict[Was, Cell] = {"file": ("4", O.ADOPT), "none": ("23", O.ADOPT), "dir": ("34b", O.ADOPT)}
"""Instead of a merge, where both sides hold the same bytes"""
TABLES: dict[Was, dict[tuple[str, str], Cell]] = {"file": FILE, "none": NONE, "dir": DIR}


def cell(was: Was, local: Now, remote: Now, *, equal: bool = False) -> Cell:
    """The row and the outcome. Links and unknown states come before everything else (rows 18 to 20).

    `equal`: both sides hold the same bytes.
    """
    if local == "L":
        return "20", O.LEAVE
    if local == "?":
        return "18", O.SKIP
    if remote in ("?", "L"):
        return "19", O.SKIP
    row, outcome = TABLES[was][local, remote]
    if equal and outcome is O.MERGE:
        return EQUAL[was]
    return row, outcome
