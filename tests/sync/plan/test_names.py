"""Names that a side cannot hold, or cannot hold beside another, are kept apart and never mangled."""

import unicodedata

import pytest

from tests.every import every
from tests.sync.pretend import World, check, settle, write
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import ignored
from vault_memory.sync.actions import Upload
from vault_memory.sync.plan.name_clashes import beside, copy_of
from vault_memory.sync.plan.planner import plan
from vault_memory.sync.plan.sync_exclusions import junk
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import File, Tree

STAMP = "2026-11-21 203312"
NFC, NFD = "K\u00f6ln.md", "Ko\u0308ln.md"
FOLDING = Settings(
    remote_names=Names(folds_case=True, folds_unicode=True), stamp=STAMP, device="laptop"
)


def notes(world: World) -> dict[str, set[str]]:
    return {
        path: set(text or ()) for path, text in world.local.shape().items() if path != "keep.md"
    }


@pytest.mark.scenario("F108")
def test_names_that_differ_in_case_are_both_kept_on_a_case_folding_server() -> None:
    world = World.of({"keep.md": "k", "Tee.md": "one"})
    write(world.local, "tee.md", "two")
    before = world.copy()

    settle(world, FOLDING)

    check(before, world)
    assert notes(world) == {"Tee.md": {"one"}, f"tee (case clash {STAMP} laptop).md": {"two"}}


@pytest.mark.scenario("F108")
def test_names_that_differ_in_case_need_no_care_where_both_sides_allow_them() -> None:
    world = World.of({"keep.md": "k", "Tee.md": "one"})
    write(world.local, "tee.md", "two")

    settle(world, Settings())

    assert notes(world) == {"Tee.md": {"one"}, "tee.md": {"two"}}


@pytest.mark.scenario("F108")
def test_names_that_clash_across_the_two_sides_are_both_kept() -> None:
    for names in (
        {"remote_names": Names(folds_case=True)},
        {"local_names": Names(folds_case=True)},
    ):
        world = World.of({"keep.md": "k"})
        write(world.local, "Tee.md", "here")
        write(world.remote, "tee.md", "there")
        before = world.copy()

        settle(world, Settings(**names))  # type: ignore[arg-type]

        check(before, world)
        assert len(notes(world)) == 2


@pytest.mark.scenario("F108")
def test_two_unicode_forms_of_a_name_with_different_texts_are_both_kept() -> None:
    world = World.of({"keep.md": "k", NFC: "one"})
    write(world.local, NFD, "two")
    before = world.copy()

    settle(world, FOLDING)

    check(before, world)
    assert sorted(notes(world).values(), key=str) == [{"one"}, {"two"}]
    assert any("(unicode clash" in path for path in notes(world))


@pytest.mark.scenario("F108")
@pytest.mark.parametrize("side", ["local", "remote"])
def test_a_note_whose_name_changes_only_in_unicode_form_keeps_its_first_form(side: str) -> None:
    world = World.of({"keep.md": "k", NFC: "one"})
    things = getattr(world, side).things
    things[NFD] = things.pop(NFC)

    settled = settle(world, FOLDING)

    assert notes(world) == {NFC: {"one"}}
    assert settled.passes == 1


def test_a_new_name_is_composed_before_upload_to_a_composing_server() -> None:
    world = World.of({"keep.md": "k"})
    write(world.local, NFD, "new")

    settle(world, FOLDING)

    assert [unicodedata.is_normalized("NFC", path) for path in notes(world)] == [True]


@pytest.mark.scenario("F108")
def test_a_note_recreated_in_other_case_waits_until_the_old_one_is_deleted() -> None:
    world = World.of({"keep.md": "k", "Tee.md": "one"})
    del world.local.things["Tee.md"]
    write(world.local, "tee.md", "two")

    settle(world, FOLDING)

    assert notes(world) == {"tee.md": {"two"}}


AWKWARD = [
    "CON.md",
    "a:b.md",
    "end. ",
    "what?.md",
    "x" * 256,
    "tab\there.md",
    "line\nbreak.md",
    "back\\slash.md",
]


@pytest.mark.scenario("F109")
@every("name", AWKWARD)
def test_a_name_the_server_cannot_store_stays_local_and_is_reported(name: str) -> None:
    here = Tree({name: File("x", id="1"), "keep.md": File("k", id="2")})

    made = plan({}, here, Tree({}), Settings(remote_names=Names(strict=True)))

    assert [action.path for action in made.actions] == ["keep.md"]
    assert made.unknown[name]


@pytest.mark.scenario("F109")
@every("name", ["🌊 tide.md", "a:b.md", "CON.md", "ü.md", "x" * 252 + ".md"])
def test_a_name_that_both_sides_can_store_is_synced_unchanged(name: str) -> None:
    made = plan({}, Tree({name: File("x", id="1")}), Tree({}))

    assert [(type(action), action.path) for action in made.actions] == [(Upload, name)]


@pytest.mark.scenario("F109")
def test_a_copy_name_fits_the_limit_is_recognised_and_does_not_grow() -> None:
    settings = Settings(stamp=STAMP, device="laptop")
    long = "d/" + "ü" * 126 + ".md"

    first = copy_of("a.md", settings, set())
    cut = copy_of(long, settings, set())

    assert first == "a (memory copy 2026-11-21 203312 laptop).md"
    assert copy_of("a.md", settings, {first}) == "a (memory copy 2026-11-21 203312 laptop 2).md"
    assert len(cut.partition("/")[2].encode()) <= 255
    for copy in (first, beside("a.md", f"case clash {STAMP} laptop", set())):
        assert conflict_copy(copy) == "a.md"
        assert ignored(copy)
        assert not junk(copy), "copies travel"


@pytest.mark.scenario("D71")
def test_the_name_of_a_copy_of_a_copy_is_no_longer_than_the_first() -> None:
    copy = "a (memory copy 2026-11-20 080000 laptop).txt"
    here, there = File("mine", id="1"), File("theirs", "t", "1")

    made = plan({}, Tree({copy: here}), Tree({copy: there}), Settings(stamp=STAMP, device="laptop"))

    assert [getattr(action, "copy", "") for action in made.actions] == [
        f"a (memory copy {STAMP} laptop).txt"
    ]
