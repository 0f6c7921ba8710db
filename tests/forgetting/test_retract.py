"""What a bot takes back: removed where it may, proposed where a person wrote it, and undone at a word."""

import json

import pytest

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.edits.edit_errors import NoteChanged
from vault_memory.errors import UsageError
from vault_memory.forgetting.retract import NO_ITEM, SAID, WAITS, TakenBack, TooManyItems
from vault_memory.rules.forgetting.matcher import TextTooShort

ALICE = "Users/alice/memories/pets.md"
BOB = "Users/bob/memories/pets.md"
OWN = "# Pets\n\n## Pets\n\n- a cat\n- a dog\n- a hen\n"


@pytest.fixture
def memory(outside: Outside):
    outside.write(ALICE, OWN)
    outside.write(BOB, OWN.replace("cat", "ferret"))
    outside.write(
        "Users/alice/lantern/config/USER.md", "# Alice\n\n## About\n\n- Lives at the harbour\n"
    )
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        lines = [f"keeps {name}" for name in ("a ferret", "two mice", "three newts", "four owls")]
        memory.apply(
            ALICE,
            [{"op": "append", "heading": "Pets", "line": line} for line in lines],
            source="tool",
        )
        yield memory


def text_of(memory: VaultMemory, note: str) -> str:
    return memory.read(note).text


def retract(memory: VaultMemory, text: str, **options) -> TakenBack:
    return memory.forgetting.take_back(text, scopes=["user:alice"], **options)


def test_an_item_of_the_bot_is_removed_and_undo_restores_it(memory: VaultMemory):
    before = text_of(memory, ALICE)

    done = retract(memory, "A  FERRET")

    assert (done.matches, done.proposed, done.remaining) == (1, (), ())
    [removed] = done.removed
    assert (removed.place, removed.count) == (ALICE, 1)
    assert "ferret" not in text_of(memory, ALICE)
    assert not memory.search("ferret", scopes=["user:alice"]).hits

    memory.undo(str(removed.audit_id))

    assert text_of(memory, ALICE) == before


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[x] buy milk", "[x] buy milk"),
        ("[?] buy milk", "[?] Buy milk"),
        ("buy milk", "- buy milk"),
        ("- buy milk", "- buy milk"),
        ("8. May: Anna", "8. May: Anna"),
    ],
)
def test_a_text_is_taken_back_as_it_was_given(memory: VaultMemory, line: str, text: str):
    before = text_of(memory, ALICE)
    memory.apply(ALICE, [{"op": "append", "heading": "Pets", "line": line}])

    done = retract(memory, text)

    assert (done.matches, done.proposed, done.remaining) == (1, (), ())
    assert text_of(memory, ALICE) == before


@pytest.mark.parametrize("box", ["x", "/"])
def test_of_a_task_that_is_done_and_open_the_named_one_is_taken_back(memory: VaultMemory, box: str):
    lines = ("[ ] buy milk", f"[{box}] buy milk")
    ops = [{"op": "append", "heading": "Pets", "line": line} for line in lines]
    memory.apply(ALICE, ops)

    done = retract(memory, f"[{box}] buy milk", source="cli")

    assert (done.matches, done.remaining) == (1, ())
    assert "- [ ] buy milk" in text_of(memory, ALICE)
    assert f"- [{box}] buy milk" not in text_of(memory, ALICE)


def test_removing_a_persons_item_is_only_proposed(memory: VaultMemory):
    done = retract(memory, "a hen")

    assert done.removed == ()
    [proposed] = done.proposed
    assert (proposed.place, proposed.count, proposed.inbox) == (
        ALICE,
        1,
        "Users/alice/lantern/config/INBOX.md",
    )
    assert done.as_json()["remaining"] == [{"place": ALICE, "why": WAITS}]
    assert "a hen" in text_of(memory, ALICE)
    assert [one.note for one in memory.inbox()] == [ALICE]


def test_notes_of_others_are_neither_changed_nor_mentioned(memory: VaultMemory):
    before = text_of(memory, BOB)

    done = retract(memory, "ferret")

    assert text_of(memory, BOB) == before
    assert "bob" not in json.dumps(done.as_json())
    assert retract(memory, "ferret", note=BOB) == TakenBack(0, (), (), ())


def test_turns_and_prose_are_kept_and_reported(memory: VaultMemory, outside: Outside):
    outside.write("Users/alice/memories/letter.md", "# Letter\n\nThe ferret is ill.\n")
    said = memory.record_turn(
        session="s", role="user", user="alice", text="my ferret is called Iris"
    )

    done = retract(memory, "ferret")

    assert {one.place: one.why for one in done.remaining} == {
        "Users/alice/memories/letter.md": NO_ITEM,
        said.note: SAID,
    }


def test_a_note_is_changed_only_at_the_expected_revision(memory: VaultMemory):
    revision = memory.read(ALICE).revision
    memory.apply(
        ALICE, [{"op": "append", "heading": "Pets", "line": "keeps five bees"}], source="tool"
    )
    before = text_of(memory, ALICE)

    with pytest.raises(NoteChanged):
        retract(memory, "ferret", note=ALICE, expected=revision)
    assert text_of(memory, ALICE) == before

    assert retract(memory, "ferret", note=ALICE, expected=memory.read(ALICE).revision).removed
    with pytest.raises(UsageError, match="one note"):
        retract(memory, "ferret", expected=revision)


def test_nested_items_are_removed_with_their_parent_and_count_once(
    memory: VaultMemory, outside: Outside
):
    outside.write(
        "Users/alice/memories/trees.md",
        "## Trees\n\n- elm by the gate\n  - this elm is old\n- oak\n",
    )

    done = retract(memory, "elm")

    assert (done.matches, [one.count for one in done.proposed]) == (1, [1])


def test_a_text_that_is_too_short_or_matches_too_much_is_refused(
    memory: VaultMemory, outside: Outside
):
    items = "".join(f"- gull {number}\n" for number in range(30))
    note = outside.write("Users/alice/memories/gulls.md", f"## Gulls\n\n{items}")

    with pytest.raises(TextTooShort):
        retract(memory, "a")
    with pytest.raises(TooManyItems, match="30 items"):
        retract(memory, "gull")
    assert note.read_text().count("gull") == 30
    assert memory.inbox() == ()


def test_an_unreadable_note_is_reported(memory: VaultMemory, outside: Outside):
    note = outside.write("Users/alice/memories/letter.md", "- a swan\n")
    memory.refresh()
    note.unlink()
    note.symlink_to(outside.vault / BOB)

    [remaining] = retract(memory, "swan").remaining

    assert (remaining.place, remaining.why[:7]) == ("Users/alice/memories/letter.md", "perhaps")


def test_counts_for_some_scopes_reveal_nothing_of_others(memory: VaultMemory):
    everything, own = memory.searcher.stats(), memory.searcher.stats(["user:alice"])

    assert set(own["scopes"]) == {"user:alice"}
    assert own["scopes"]["user:alice"] == everything["scopes"]["user:alice"]
    assert own["sources"]["notes"]["notes"] == 2
    assert sum(kind["notes"] for kind in own["kinds"].values()) == 2
    assert memory.searcher.stats([]) == {
        "kinds": {},
        "scopes": {},
        "sources": {"notes": {"notes": 0, "chunks": 0}},
    }


def test_of_two_remembered_lines_only_the_requested_one_is_forgotten(outside):
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        words = "My boat, the heron, is blue. In F sharp the kettle always sings."
        memory.record_turn(session="s", role="user", user="alice", text=words)
        for text in ("The heron boat is blue", "The kettle sings in F sharp"):
            assert memory.remember(text, scope="user:alice", source="tool").outcome == "added"

        gone = memory.forgetting.take_back("kettle sings", scopes=["user:alice"])
        last = memory.forgetting.take_back("heron boat", scopes=["user:alice"])

        assert [(one.removed[0].count, one.remaining) for one in (gone, last)] == [(1, ()), (1, ())]
        assert not memory.inbox()
        memory.undo(gone.removed[0].audit_id)
        assert memory.search("kettle", scopes=["user:alice"]).hits
