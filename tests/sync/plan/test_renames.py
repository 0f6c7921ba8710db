"""Renames are followed, on either side and on both, without a copy too many or a text too few."""

from dataclasses import replace

import pytest

from tests.sync.pretend import Settled, World, check, remove, rename, settle, write
from vault_memory.sync.actions import MoveBase, MoveLocal, MoveRemote
from vault_memory.sync.plan.planner import SyncPlan, plan
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import BaseFile, Dir, File, Tree

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
