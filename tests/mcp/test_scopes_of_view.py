"""What the page asks of a vault gives and changes nothing of another scope.

The calls are those of the vault and of its parts, by their signatures: a new call is in here at once. A view can
make none that takes neither scopes nor a note.
"""

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.mcp.test_leaks import CALLERS, NAMES, open_to, probes
from tests.mcp.vaults import WORDS, contents, pages
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.edits.calls import CallKeywords, EditOptions
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.learning.policy.feedback import Feedback
from vault_memory.rules.paths.scopes import Caller

PARTS = (
    *("", "facts", "source", "edits", "conflicts", "conversations"),
    *("searcher", "learning", "forgetting", "sync"),
)
NO_TEXT: dict[str, Any] = {
    "ask": "ferry",
    "base": b"",
    "both": True,
    "choice": "keep",
    "edit": {"op": "create", "file_text": "- the ferry\n"},
    "feedback": Feedback("good", "user:alice", "alice"),
    "ops": [{"op": "append", "heading": "## Plan", "line": "the ferry"}],
    "options": EditOptions(),
    "right": {"object": "a boat"},
    "skips": [],
    "source": "tool",
    "verdict": "keep",
}
"""Argument that is no text of the caller → what it gets"""


class ViewCall(NamedTuple):
    """A call that a view can make."""

    part: str
    name: str
    needs: tuple[str, ...]
    """its arguments without a default, but for the note and the scopes"""
    takes: frozenset[str]
    """`note`, `scopes`"""

    def made(self, calls: Any, probe: str, **given: Any) -> str:
        """What it says to a text in each of its arguments: its answer, or its error."""
        part = getattr(calls, self.part) if self.part else calls
        run = part if self.name == "__call__" else getattr(part, self.name)
        values = {name: NO_TEXT.get(name, probe) for name in self.needs}
        values |= {"ids": [probe]} if "ids" in values else {}
        values |= {"text": probe.encode()} if self.name == "save" else {}
        try:
            answer = run(**values, **given)
        except VaultMemoryError as error:
            return f"{error.message} {error.hint} {error.details}"
        except TypeError:
            return ""  # it takes a note and scopes, and gets one of them
        return repr(list(answer) if inspect.isgenerator(answer) else answer)


def view_calls(memory: VaultMemory) -> list[ViewCall]:
    return [call for part in PARTS for call in _calls_of(memory, part) if call.takes]


def _calls_of(memory: VaultMemory, part: str) -> Iterator[ViewCall]:
    calls = getattr(memory, part) if part else memory
    internal = getattr(type(calls), "INTERNAL", ())
    for name in dir(type(calls)):
        call = getattr(type(calls), name)
        is_public = name == "__call__" or not name.startswith("_")
        if not is_public or name in internal or not inspect.isfunction(call):
            continue
        each = inspect.signature(getattr(calls, name)).parameters.values()
        keywords = [argument for argument in each if argument.kind is argument.VAR_KEYWORD]
        names = {argument.name for argument in each}
        if any("CallKeywords" in str(argument.annotation) for argument in keywords):
            names |= set(CallKeywords.__annotations__)
        needs = (
            argument.name
            for argument in each
            if argument.default is argument.empty and argument not in keywords
        )
        takes = frozenset(names & {"note", "scopes"})
        yield ViewCall(part, name, tuple(name for name in needs if name not in takes), takes)


def test_a_view_makes_no_call_without_its_scopes_or_a_note_of_theirs(memory: VaultMemory):
    view = memory.as_seen_by(Caller("alice"))

    with pytest.raises(TypeError):
        view.calls.status()
    with pytest.raises(TypeError):
        view.calls.search("ferry", scopes=["user:bob"])
    for path in pages("user:bob", WORDS["user:bob"]):
        with pytest.raises(NoteNotFound):
            view.note(path)
    assert len(view_calls(memory)) > 40


@pytest.mark.sampled
@pytest.mark.parametrize("who", ["alice", "ali"])
def test_no_call_of_a_view_reveals_or_changes_anything_of_others(
    memory: VaultMemory, filled: Outside, who: str
):
    caller = CALLERS[who]
    view, own = memory.as_seen_by(caller), open_to(memory, caller)
    strange = [scope for scope in WORDS if scope not in view.scopes]
    others = {name for name in NAMES if not any(name in scope for scope in view.scopes)}
    asked, before = probes(memory, caller), contents(filled, strange)
    notes = [
        path
        for word in own
        for scope in WORDS
        if WORDS[scope] == word
        for path in pages(scope, word)
    ]
    leaks, seen = [], set[str]()

    for call in view_calls(memory):
        for probe in asked:
            said = []
            if "scopes" in call.takes:
                given = [{"note": probe}] if "note" in call.takes else []
                said += [call.made(view.calls, probe, **each) for each in given or [{}]]
            if "note" in call.takes:
                said += [call.made(view.note(note), probe) for note in notes[:2]]
            for text in said:
                shown = {word for word in WORDS.values() if word in text and word not in probe}
                named = {name for name in others if name in text and name not in probe}
                if not shown <= own or named:
                    leaks.append((call.part, call.name, probe, shown - own, named, text[:300]))
                seen |= shown

    assert not leaks
    assert seen == own, "what is theirs is shown, so the words could be seen"
    assert contents(filled, strange) == before
    touched = {memory.layout.place(record.note).scope for record in memory.log()}
    assert touched <= set(view.scopes)
