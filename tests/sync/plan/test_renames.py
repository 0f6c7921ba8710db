"""Renames are followed, on either side and on both, without a copy too many or a text too few."""

from dataclasses import replace
from typing import Any

import pytest

from tests.every import every
from tests.sync.pretend import Settled, World, check, remove, rename, settle, write
from vault_memory.sync.actions import MoveBase, MoveLocal, MoveRemote
from vault_memory.sync.plan.planner import SyncPlan, plan
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import BaseDir, BaseFile, Dir, File, Node, Tree

ALL_MEANT = Settings(approve_deletes=True)


def world_of(*notes: str, **folders: None) -> World:
    return World.of({"keep.md": "k", **folders, **{note: note for note in notes}})


def settled(world: World, settings: Settings = ALL_MEANT) -> tuple[Settled, list[str]]:
    """Settle and check it; says besides which kinds of actions were planned."""
    before, kinds = world.copy(), []

    def watched(*trees: object) -> SyncPlan:
        made = plan(*trees)  # type: ignore[arg-type]
        kinds.extend(type(action).__name__ for action in made.actions)
        return made

    result = settle(world, settings, planner=watched)
    check(before, world)
    return result, kinds


def texts(world: World) -> dict[str, set[str]]:
    return {
        path: set(text)
        for path, text in world.local.shape().items()
        if text is not None and path != "keep.md"
    }


@pytest.mark.scenario("F105")
def test_a_note_renamed_locally_is_moved_on_the_server_not_uploaded_again() -> None:
    world = world_of("a.md")
    rename(world.local, "a.md", "b.md")

    assert settled(world)[1] == ["MoveRemote"]


@pytest.mark.scenario("F105")
def test_a_note_renamed_on_the_server_is_renamed_locally_not_downloaded_again() -> None:
    world = world_of("a.md")
    rename(world.remote, "a.md", "b.md")

    assert settled(world)[1] == ["MoveLocal"]


def test_a_note_renamed_locally_and_edited_remotely_gets_the_edit() -> None:
    world = world_of("a.md")
    rename(world.local, "a.md", "b.md")
    write(world.remote, "a.md", "edit")

    _, kinds = settled(world)

    assert kinds == ["MoveRemote", "Download"]
    assert texts(world) == {"b.md": {"a.md", "edit"}}


def test_a_note_renamed_and_edited_locally_is_moved_and_then_uploaded() -> None:
    world = world_of("a.md")
    rename(world.local, "a.md", "b.md")
    write(world.local, "b.md", "edit")

    assert settled(world)[1] == ["MoveRemote", "Upload"]


def test_a_note_alike_that_is_left_out_meanwhile_is_not_a_rename() -> None:
    world = world_of("a.md")
    remove(world.local, "a.md", "")
    settings = replace(ALL_MEANT, alike=frozenset({("a.md", "gone.md")}))

    assert settled(world, settings)[1] == ["DeleteRemote"]


def test_a_reused_inode_with_different_text_is_not_a_rename() -> None:
    base = {"a.md": BaseFile("a", "t1", "inode", "1"), "keep.md": BaseFile("k", "t0", "0", "0")}
    kept_here, kept_there = File("k", id="0"), File("k", "t0", "0")
    here = Tree({"b.md": File("other", id="inode"), "keep.md": kept_here}, frozenset({"a.md"}))
    there = Tree({"a.md": File(None, "t1", "1"), "keep.md": kept_there})

    kinds = [type(action).__name__ for action in plan(base, here, there, ALL_MEANT).actions]

    assert kinds == ["Upload", "DeleteRemote"]


@pytest.mark.scenario("F105")
def test_a_note_renamed_differently_on_both_sides_takes_the_server_name_and_all_text() -> None:
    world = world_of("a.md")
    rename(world.local, "a.md", "b.md")
    rename(world.remote, "a.md", "c.md")
    write(world.local, "b.md", "mine")
    write(world.remote, "c.md", "theirs")

    settled(world)

    assert texts(world) == {"c.md": {"a.md", "mine", "theirs"}}


def test_a_note_renamed_alike_on_both_sides_only_updates_its_sync_record() -> None:
    world = world_of("a.md")
    rename(world.local, "a.md", "b.md")
    rename(world.remote, "a.md", "b.md")

    assert settled(world)[1] == [MoveBase.__name__]


@pytest.mark.scenario("E100")
def test_a_rename_onto_a_name_taken_on_the_server_merges_both_texts() -> None:
    world = world_of("a.md")
    rename(world.local, "a.md", "b.md")
    write(world.remote, "b.md", "theirs")

    settled(world)

    assert texts(world) == {"b.md": {"a.md", "theirs"}}


@pytest.mark.scenario("F105")
def test_a_renamed_note_is_kept_although_the_other_side_deleted_it() -> None:
    for side, other in (("local", "remote"), ("remote", "local")):
        world = world_of("a.md")
        rename(getattr(world, side), "a.md", "b.md")
        del getattr(world, other).things["a.md"]
        world.trees()

        (forget, carry) = plan(dict(world.base), *world.trees()).actions
        settled(world)

        assert forget.path == "a.md"
        assert "renamed to `b.md`" in carry.note
        assert texts(world) == {"b.md": {"a.md"}}


@pytest.mark.scenario("F105")
@pytest.mark.parametrize("side", ["local", "remote"])
def test_notes_that_swap_or_rotate_names_go_through_a_temporary_name(side: str) -> None:
    swapped, rotated = world_of("a.md", "b.md"), world_of("a.md", "b.md", "c.md")
    for world, steps in ((swapped, "ax ba xb"), (rotated, "cx bc ab xa")):
        for src, dst in steps.split():
            rename(getattr(world, side), f"{src}.md", f"{dst}.md")

        result, kinds = settled(world)

        assert result.refused == 0
        assert set(kinds) == {"MoveRemote" if side == "local" else "MoveLocal"}
    assert texts(swapped) == {"a.md": {"b.md"}, "b.md": {"a.md"}}
    assert texts(rotated) == {"a.md": {"c.md"}, "b.md": {"a.md"}, "c.md": {"b.md"}}


@pytest.mark.parametrize("recorded", [True, False])
def test_an_interrupted_swap_is_completed_by_the_next_pass(recorded: bool) -> None:
    world = world_of("a.md", "b.md")
    for src, dst in ("ax", "ba", "xb"):
        rename(world.local, f"{src}.md", f"{dst}.md")
    first = plan(dict(world.base), *world.trees(), ALL_MEANT).actions[0]
    assert isinstance(first, MoveRemote)
    world.act(first)
    if not recorded:
        world.carry(first.to, first.path)

    settled(world)

    assert texts(world) == {"a.md": {"b.md"}, "b.md": {"a.md"}}


@pytest.mark.scenario("F105")
def test_a_renamed_folder_is_moved_in_one_step() -> None:
    world = world_of("d/a.md", "d/b.md", d=None)
    rename(world.local, "d", "e")

    assert settled(world)[1] == ["MoveRemote"]
    assert set(world.remote.things) == {"keep.md", "e", "e/a.md", "e/b.md"}


def test_a_save_under_the_old_folder_name_makes_a_new_note() -> None:
    world = world_of("old/x.md", "old/y.md", old=None)
    rename(world.local, "old", "new")
    world.local.mkdir("old")
    write(world.local, "old/x.md", "saved again")

    settled(world)

    assert texts(world) == {
        "new/x.md": {"old/x.md"},
        "new/y.md": {"old/y.md"},
        "old/x.md": {"saved again"},
    }


@pytest.mark.scenario("F105")
def test_folders_moved_into_each_other_end_as_on_the_server() -> None:
    world = world_of("a/x.md", "b/y.md", a=None, b=None)
    rename(world.local, "a", "b/a")
    rename(world.remote, "b", "a/b")

    result, _ = settled(world)

    assert texts(world) == {"a/x.md": {"a/x.md"}, "a/b/y.md": {"b/y.md"}}
    assert result.passes <= 5


@pytest.mark.scenario("F105")
def test_a_note_moved_into_a_folder_deleted_on_the_other_side_is_kept() -> None:
    world = world_of("a.md", "d/b.md", d=None)
    rename(world.local, "a.md", "d/a.md")
    for path in ("d/b.md", "d"):
        del world.remote.things[path]

    settled(world)

    assert texts(world) == {"d/a.md": {"a.md"}}


def test_a_note_renamed_over_another_counts_as_an_edit_of_that_note() -> None:
    world = world_of("a.md", "USER.md")
    rename(world.local, "a.md", "USER.md")

    _, kinds = settled(world)

    assert kinds == ["Upload", "DeleteRemote"]
    assert texts(world) == {"USER.md": {"a.md"}}


def test_a_rename_of_a_required_note_is_not_followed() -> None:
    base = {"USER.md": BaseFile("u", "t", "i", "1"), "keep.md": BaseFile("k", "t0", "0", "0")}
    here = {"ME.md": File("u", id="i"), "keep.md": File("k", id="0")}
    there = Tree({"USER.md": File(None, "t", "1"), "keep.md": File("k", "t0", "0")})
    gone = frozenset({"USER.md"})
    settings = Settings(must_exist=gone)

    early = plan(base, Tree(here, gone), there, settings)
    late = plan(base, Tree(here, gone, long_gone=gone), there, settings)

    assert [type(action).__name__ for action in early.actions] == ["Upload"]
    assert "USER.md" in early.unknown
    assert [type(action).__name__ for action in late.actions] == ["Upload", "DeleteRemote"]
    assert late.actions[1].note


def test_a_note_renamed_to_an_excluded_name_is_deleted_on_the_server() -> None:
    base = {"a.md": BaseFile("a", "t", "i", "1"), "keep.md": BaseFile("k", "t0", "0", "0")}
    here = {"a.md~": File("a", id="i"), "keep.md": File("k", id="0")}
    there = Tree({"a.md": File(None, "t", "1"), "keep.md": File("k", "t0", "0")})

    first, second = (
        plan(base, Tree(here), there),
        plan(base, Tree(here, frozenset({"a.md"})), there),
    )

    assert not first.actions
    assert [type(action).__name__ for action in second.actions] == ["DeleteRemote"]


def test_a_case_only_rename_uses_a_temporary_name_where_case_is_folded() -> None:
    world = world_of("Tee.md")
    rename(world.local, "Tee.md", "tee.md")

    _, kinds = settled(world, Settings(remote_names=Names(folds_case=True)))

    assert kinds == ["MoveRemote", "MoveRemote"]
    assert texts(world) == {"tee.md": {"Tee.md"}}


def test_a_folder_is_never_taken_for_a_renamed_note() -> None:
    base = {"a.md": BaseFile("a", "t", "i", "1"), "keep.md": BaseFile("k", "t0", "0", "0")}
    here = Tree({"d": Dir("i"), "keep.md": File("k", id="0")})
    there = Tree({"a.md": File(None, "t", "1"), "keep.md": File("k", "t0", "0")})

    assert not any(
        isinstance(action, MoveRemote | MoveLocal) for action in plan(base, here, there).actions
    )


# --- Each move by itself ------------------------------------------------------------------------


def things(text: str) -> dict[str, tuple[str, str]]:
    """Path → id and text: `a.md:1` has the id 1 and the text 1, `a.md:1=x` the text x, `d/:2` is a directory."""
    found = {}
    for word in f"keep.md:0 {text}".split():
        path, _, traits = word.rpartition(":")
        id, _, text = traits.partition("=")
        found[path] = (id, text or id)
    return found


def tree(text: str, *, remote: bool = False) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for path, (id, raw) in things(text).items():
        file = File(raw, raw if remote else "", id)
        nodes[path.rstrip("/")] = Dir(id) if path.endswith("/") else file
    return nodes


def planned(base: str, local: str, remote: str, **settings: Any) -> SyncPlan:
    """The plan for a base and what both sides have; every absence is certain."""
    known: dict[str, BaseFile | BaseDir] = {}
    for path, (id, raw) in things(base).items():
        directory = BaseDir(id, id)
        known[path.rstrip("/")] = directory if path.endswith("/") else BaseFile(raw, raw, id, id)
    here, there = tree(local), tree(remote, remote=True)
    paths = frozenset({*known, *here, *there})
    trees = Tree(here, paths - here.keys()), Tree(there, paths - there.keys())
    return plan(known, *trees, Settings(**settings))


def moves(made: SyncPlan) -> list[str]:
    """`L` for the vault, `R` for the server, `B` for the record alone."""
    letters = {MoveLocal: "L", MoveRemote: "R", MoveBase: "B"}
    return [
        f"{letters[type(action)]} {action.path} > {action.to}"
        for action in made.actions
        if isinstance(action, MoveLocal | MoveRemote | MoveBase)
    ]


@pytest.mark.scenario("F105")
@every(
    ("base", "local", "remote", "expected"),
    [
        ("a.md:1", "b.md:1", "a.md:1", ["R a.md > b.md"]),
        ("a.md:1", "a.md:1", "b.md:1", ["L a.md > b.md"]),
        ("a.md:1", "b.md:1", "b.md:1", ["B a.md > b.md"]),
        ("a.md:1", "b.md:1", "c.md:1", ["L b.md > c.md"]),
        ("a.md:1 b.md:2", "c.md:1 d.md:2", "a.md:1 b.md:2", ["R a.md > c.md", "R b.md > d.md"]),
        ("a.md:1 b.md:2", "c.md:1 b.md:2", "a.md:1 d.md:2", ["L b.md > d.md", "R a.md > c.md"]),
        ("a.md:1 b.md:2", "b.md:1 c.md:2", "a.md:1 b.md:2", ["R b.md > c.md", "R a.md > b.md"]),
        ("d/:1 d/a.md:2", "e/:1 e/a.md:2", "d/:1 d/a.md:2", ["R d > e"]),
        ("d/:1 d/a.md:2", "d/:1 d/a.md:2", "e/:1 e/a.md:2", ["L d > e"]),
        ("d/:1 d/a.md:2 d/c.md:3", "e/:1 e/b.md:2 e/c.md:3", "d/:1 d/a.md:2 d/c.md:3", ["R d > e"]),
        ("a.md:1", "d/:9 d/a.md:1", "a.md:1", ["R a.md > d/a.md"]),
        (
            "d/:1 d/a.md:2 b.md:3",
            "e/:1 e/a.md:2 e/b.md:3",
            "d/:1 d/a.md:2 b.md:3",
            ["R d > e", "R b.md > e/b.md"],
        ),
        (
            "d/:1 d/a.md:2 b.md:3",
            "e/:1 e/a.md:2 d/:9 d/b.md:3",
            "d/:1 d/a.md:2 b.md:3",
            ["R d > e"],
        ),
        (
            "d/:1 d/a.md:2 x/:4 x/y.md:5 b.md:3",
            "e/:1 e/a.md:2 d/:4 d/y.md:5 d/b.md:3",
            "d/:1 d/a.md:2 x/:4 x/y.md:5 b.md:3",
            ["R d > e", "R x > d", "R b.md > d/b.md"],
        ),
    ],
)
def test_what_one_side_renamed_is_moved_on_the_other(
    base: str, local: str, remote: str, expected: list[str]
) -> None:
    assert moves(planned(base, local, remote)) == expected


@every(
    ("base", "local", "remote"),
    [
        pytest.param("a.md:1", "b.md:1=x", "a.md:1", id="an inode that was used again"),
        pytest.param("a.md:1", "b.md:1 c.md:1", "a.md:1", id="two names of one file"),
        pytest.param("a.md:1", "a.md:1 b.md:1", "a.md:1", id="a second name"),
        pytest.param("a.md:1", "b/:1", "a.md:1", id="a directory with the id of a file"),
        pytest.param("d/:1 d/a.md:2", "e/:1", "d/:1 d/a.md:2", id="a directory without its files"),
        pytest.param("a.md:1", "b.md:1", "b.md:7", id="a name that is taken there"),
        pytest.param("a.md:1", "b.md:1", "", id="what is gone there"),
        pytest.param("a.md:1 b.md:2", "b.md:1", "a.md:1 b.md:2", id="a file over another"),
        pytest.param(
            "a.md:1", "d/:8 d/a.md:1", "a.md:1 d:7", id="a directory that is a file there"
        ),
        pytest.param("d/:1 d/a.md:2", "d/:1 d/a.md:2", "d/:7 d/a.md:2", id="a directory made anew"),
    ],
)
def test_what_may_be_something_else_is_not_moved(base: str, local: str, remote: str) -> None:
    assert moves(planned(base, local, remote)) == []


def test_a_note_that_is_saved_as_a_new_file_under_a_new_name_is_known_by_its_text() -> None:
    case = "a.md:1", "b.md:9=x", "a.md:1"

    assert moves(planned(*case)) == []
    assert moves(planned(*case, alike=frozenset({("a.md", "b.md")}))) == ["R a.md > b.md"]
    two_new = "a.md:1", "b.md:8=x c.md:9=x", "a.md:1"
    both = frozenset({("a.md", "b.md"), ("a.md", "c.md")})
    assert moves(planned(*two_new, alike=both)) == []
    two_old = "a.md:1 b.md:2", "c.md:9=x", "a.md:1 b.md:2"
    assert moves(planned(*two_old, alike=frozenset({("a.md", "c.md"), ("b.md", "c.md")}))) == []
    by_id = "a.md:1 b.md:2", "c.md:1", "a.md:1 b.md:2"
    assert moves(planned(*by_id, alike=frozenset({("b.md", "c.md")}))) == ["R a.md > c.md"]


def test_a_required_note_is_moved_by_nothing() -> None:
    required = frozenset({"USER.md", "d/MEMORY.md"})

    for case in (
        ("USER.md:1", "b.md:1", "USER.md:1"),
        ("a.md:1", "USER.md:1", "a.md:1"),
        ("d/:1 d/MEMORY.md:2", "e/:1 e/MEMORY.md:2", "d/:1 d/MEMORY.md:2"),
    ):
        assert moves(planned(*case)), case
        assert moves(planned(*case, must_exist=required)) == [], case


def test_a_mode_follows_the_renames_of_its_source_alone() -> None:
    case = "a.md:1 b.md:2", "c.md:1 b.md:2", "a.md:1 d.md:2"

    assert moves(planned(*case, mode="pull")) == ["L b.md > d.md"]
    assert moves(planned(*case, mode="push")) == ["R a.md > c.md"]
    folders = "d/:1 d/a.md:2", "e/:1 e/a.md:2", "d/:1 d/a.md:2"
    assert moves(planned(*folders, has_folders=False)) == ["R d/a.md > e/a.md"]


def test_names_that_rotate_go_through_one_temporary_name() -> None:
    made = moves(planned("a.md:1 b.md:2", "a.md:2 b.md:1", "a.md:1 b.md:2"))

    assert len(made) == 3
    assert sum("(memory move)" in move.partition(" > ")[0] for move in made) == 1
    assert sum("(memory move)" in move.partition(" > ")[2] for move in made) == 1


def test_a_change_of_case_goes_through_a_temporary_name_where_case_is_folded() -> None:
    case = "Tee.md:1", "tee.md:1", "Tee.md:1"

    assert moves(planned(*case)) == ["R Tee.md > tee.md"]
    folded = moves(planned(*case, remote_names=Names(folds_case=True)))
    assert folded == ["R Tee.md > tee (memory move).md", "R tee (memory move).md > tee.md"]


def test_a_move_names_what_it_rests_on_and_what_is_recorded() -> None:
    [to_server] = planned("a.md:1", "b.md:1", "a.md:1").actions
    assert isinstance(to_server, MoveRemote)
    assert (to_server.tag, to_server.record, to_server.unedited) == ("1", "a.md", True)
    edited = planned("a.md:1", "b.md:1", "a.md:1=x").actions[0]
    assert isinstance(edited, MoveRemote)
    assert (edited.tag, edited.unedited) == ("x", False)
    [to_vault] = planned("a.md:1", "a.md:1", "b.md:1").actions
    assert isinstance(to_vault, MoveLocal)
    assert (to_vault.hash, to_vault.record) == ("1", "a.md")
    [folder] = planned("d/:1 d/a.md:2", "d/:1 d/a.md:2", "e/:1 e/a.md:2").actions
    assert isinstance(folder, MoveLocal)
    assert (folder.hash, folder.record) == (None, "d")
    [remote_folder] = planned("d/:1 d/a.md:2", "e/:1 e/a.md:2", "d/:1 d/a.md:2").actions
    assert isinstance(remote_folder, MoveRemote)
    assert (remote_folder.tag, remote_folder.unedited) == ("", True)
    [twice] = planned("a.md:1", "b.md:1", "c.md:1").actions
    assert isinstance(twice, MoveLocal)
    assert (twice.path, twice.record) == ("b.md", "a.md")
    assert "renamed twice, to `b.md` here and to `c.md`" in twice.note


def test_what_a_move_concerns_is_left_to_it_in_this_pass() -> None:
    """The base of a note that was renamed twice is under its first name, which neither side has."""
    twice = planned("a.md:1", "b.md:1", "c.md:1")
    assert [type(action) for action in twice.actions] == [MoveLocal]
    assert not twice.waiting
    freed = planned("a.md:1 x.md:2", "b.md:1 a.md:2", "c.md:1 x.md:2")
    assert [type(action) for action in freed.actions] == [MoveLocal], "its name is taken later"
    below = planned("d/:1 d/a.md:2", "e/:1 e/a.md:2=x", "d/:1 d/a.md:2")
    assert [type(action) for action in below.actions] == [MoveRemote]


def test_folders_that_were_moved_into_each_other_end_as_on_the_server() -> None:
    made = planned(
        "a/:1 a/x.md:2 b/:3 b/y.md:4",
        "b/:3 b/y.md:4 b/a/:1 b/a/x.md:2",
        "a/:1 a/x.md:2 a/b/:3 a/b/y.md:4",
    )

    assert moves(made) == ["L b/a > a"]
    [undo] = [action for action in made.actions if isinstance(action, MoveLocal)]
    assert "each moved into the other" in undo.note
