"""The words in which the text of a life names decisions, each with the form of its value.

`{}` stands for the value, and is always last. A line of a life consists of these phrases; the parser
refuses any other.
"""

import re
from typing import NamedTuple

# Who, and how many seconds after the step before.
AFTER = "after {}"
WHO = "{}"
# People, and the other device of a sync client, edit a text.
ADDS = "adds an item below {}"
REWORDS = "rewords {}"
DELETES = "deletes {}"
MOVES = "moves {}"
TO_LINE = "to line {}"
RENAMES = "renames the section {}"
EDITS = (ADDS, REWORDS, DELETES, MOVES, RENAMES)
SAVES = "saves {}"
STYLES = {
    "rename": "by rename",
    "backup": "with a backup",
    "in place": "in place",
    "vim": "with vim",
}
"""Ways to save, as they follow `saves`"""
# A program that keeps a log open, a sync client, and a reader of the page of proposals.
CLOSES = "closes"
EDITS_ELSEWHERE = "edits elsewhere"
RESTORES_ELSEWHERE = "restores elsewhere the version {}"
SYNCS = "syncs"
TICKS = "ticks the first box"
STRIKES = "deletes the first box"
# The bot asks for changes.
ASKS_FOR = "asks for {}"
APPENDS = "appends under {}"
ADDS_SECTION = "adds a section"
REMOVES = "removes {}"
REPLACES = "replaces {}"
SOURCE = "as {}"
# What goes wrong.
DISK_IS_FULL = "the disk is full"
DIES = "dies at call {}"
HALFWAY = "halfway"
MEETS = "meets {}"
AT_CALL = "at call {}"
POWER_IS_LOST = "power is lost"
LEAVES = "leaves {}"
# What happens where nothing is decided. It is there for the reader, and replay passes it by.
REMARKS = (
    "loads",
    "goes on saving",
    "has saved",
    "finds the note in use",
    "finds no note",
    "opens",
    "waits",
    "appends",
    "uploads",
    "goes on downloading",
    "has downloaded",
    "finds nothing to decide",
    "tends",
)

_LINE = r"[a-z]+-\d{3}|line \d+"
_NAME = r"[\w() -]+"
_NUMBER = r"\d+"
_NAMES_LEFT = r"the (old|new) names|names \d+ of \d+"
_BYTES_LEFT = r"(half|the old part|zeros|half and zeros) of [\w.() -]+"
_NOTHING = ""
_EDITING = {
    ADDS: _LINE,
    REWORDS: _LINE,
    DELETES: _LINE,
    MOVES: _LINE,
    TO_LINE: _NUMBER,
    RENAMES: _NAME,
}
_PERSON = _EDITING | {SAVES: "|".join(STYLES.values())}
_FAULTS = {
    DISK_IS_FULL: _NOTHING,
    DIES: _NUMBER,
    HALFWAY: _NOTHING,
    MEETS: "EIO|ENOSPC",
    AT_CALL: _NUMBER,
    POWER_IS_LOST: _NOTHING,
    LEAVES: f"{_NAMES_LEFT}|{_BYTES_LEFT}",
}
FAULTS = frozenset(_FAULTS)
_FORMS: dict[str, dict[str, str]] = {
    "ann": _PERSON,
    "bob": _PERSON,
    "log": {CLOSES: _NOTHING},
    "sync": _EDITING | {EDITS_ELSEWHERE: _NOTHING, RESTORES_ELSEWHERE: _NUMBER},
    "tick": {TICKS: _NOTHING, STRIKES: _NOTHING},
    "engine": _FAULTS,
    "bot": _FAULTS
    | {
        ASKS_FOR: "two changes",
        APPENDS: _NAME,
        ADDS_SECTION: _NOTHING,
        REMOVES: _NAME,
        REPLACES: _NAME,
        SOURCE: "nightly|tool",
    },
}
"""Actor → the phrases that fit this actor, each with the form of its value"""


class Decision(NamedTuple):
    """A phrase and its value; empty for a phrase without one."""

    phrase: str
    value: str = ""

    def __str__(self) -> str:
        return self.phrase.format(self.value)


def decision_of(who: str, text: str) -> Decision | None:
    """The decision or remark about this actor that a text names; None if it names none."""
    if text in REMARKS:
        return Decision(text)
    for phrase, form in _FORMS[who].items():
        start, _, _ = phrase.partition("{}")
        value = text.removeprefix(start)
        if text.startswith(start) and re.fullmatch(form, value):
            return Decision(phrase, value)
    return None


def is_plain(name: str) -> bool:
    """Whether a name can stand in a text as it is."""
    return bool(re.fullmatch(_NAME, name)) and name == name.strip()
