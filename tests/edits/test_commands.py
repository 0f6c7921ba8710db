"""A command survives the journal, also the journal of an earlier version."""

import json

from tests.every import every
from vault_memory.edits.commands import (
    ApplyOps,
    ChangeFacts,
    DecideProposals,
    EditAction,
    EditCommand,
    EditText,
    MergeCopy,
    MoveSections,
    ProposalDecision,
    RedactText,
    RestoreLines,
    RestoreVersion,
    RetireNote,
    SectionMove,
    UndoRecord,
)

APPEND = {"op": "append", "heading": "Tea", "line": "white"}
EMPTY = {
    "ops": [],
    "as_text": False,
    "undoes": "",
    "restores": "",
    "decides": [],
    "rejoins": None,
    "facts": [],
    "moves": [],
    "folds": [],
}
"""Fields that an earlier version wrote for every command"""

ACTIONS: list[tuple[str, EditAction, dict[str, object]]] = [
    ("tool", ApplyOps((APPEND,)), {"ops": [APPEND]}),
    ("proposal", ApplyOps(), {"ops": []}),
    ("tool", EditText({"op": "insert"}), {"ops": [{"op": "insert"}], "as_text": True}),
    ("undo", UndoRecord("r1"), {"undoes": "r1"}),
    ("cli", RestoreVersion("abc"), {"restores": "abc"}),
    (
        "inbox",
        DecideProposals((ProposalDecision("p1", "approved", ""),)),
        {"decides": [["p1", "approved", ""]]},
    ),
    ("merge", RestoreLines("a", "b", "c"), {"rejoins": ["a", "b", "c"]}),
    (
        "cli",
        MergeCopy("copy.md", "abc", "", "2026-01-02", keep_both=True),
        {"folds": ["copy.md", "abc", "", "2026-01-02", "both"]},
    ),
    (
        "merge",
        MergeCopy("copy.md", "abc", "base", "2026-01-02"),
        {"folds": ["copy.md", "abc", "base", "2026-01-02", "clean"]},
    ),
    (
        "cli",
        MoveSections((SectionMove("## Tea\n", "SOUL.md", "MEMORY.md"),)),
        {"moves": [["## Tea\n", "SOUL.md", "MEMORY.md"]]},
    ),
    ("cli", ChangeFacts(({"do": "delete"},)), {"facts": [{"do": "delete"}]}),
    ("forget", RedactText(2), {"ops": [{"op": "forget"}, {"op": "forget"}]}),
    ("retention", RetireNote(), {}),
]


def command_of(source: str, action: EditAction) -> EditCommand:
    command = EditCommand(
        "id1", "2026-01-02T03:04:05+00:00", "USER.md", "user", source, action, "ann"
    )
    return command.with_provenance("document", ("no sugar",))


@every(("source", "action", "fields"), ACTIONS)
def test_the_journal_returns_the_command_that_was_stored(source, action, fields):
    command = command_of(source, action)

    assert EditCommand.read(command.as_bytes()) == command


@every(("source", "action", "fields"), ACTIONS)
def test_a_waiting_command_of_an_earlier_version_is_understood(source, action, fields):
    command = command_of(source, action)
    earlier = json.loads(command.as_bytes()) | EMPTY | fields

    assert EditCommand.read(json.dumps(earlier).encode()) == command


@every(("source", "action", "fields"), ACTIONS)
def test_an_earlier_version_understands_a_waiting_command(source, action, fields):
    written = json.loads(command_of(source, action).as_bytes())

    assert {name: written[name] for name in EMPTY if name in written} == fields


@every("raw", [b"", b"[]", b"3", b"{", b'{"id": "x"}', b'"id"'])
def test_invalid_data_is_not_read_as_a_command(raw):
    assert EditCommand.read(raw) is None
