"""What does not travel is left alone on both sides; what is only read is only read."""

from time import process_time

import pytest

from tests.every import every
from tests.sync.pretend import World, remove, rename, settle, write
from vault_memory.sync.actions import Download, ForgetBase, Merge, changes
from vault_memory.sync.plan.planner import plan
from vault_memory.sync.plan.sync_exclusions import matches, unfit
from vault_memory.sync.settings import Mode, Names, Settings
from vault_memory.sync.trees import BaseDir, BaseFile, Dir, File, Link, Node, Special, Tree, Unknown

KEEP = {"keep.md": BaseFile("k", "t0", "0", "0")}
KEPT_HERE: dict[str, Node] = {"keep.md": File("k", id="0")}
KEPT_THERE: dict[str, Node] = {"keep.md": File(None, "t0", "0")}


@every(
    ("path", "pattern", "fits"),
    [
        ("memory/a.md", "memory", True),
        ("memory/a.md", "memory/", True),
        ("x/memory/a.md", "memory", True),
        ("x/memory/a.md", "/memory/", False),
        ("memory/a.md", "memory/*.md", True),
        ("memory/x/a.md", "memory/*.md", False),
        ("memory/x/a.md", "memory/**", True),
        ("memory/x/a.md", "memory/**/a.md", True),
        ("memory/a.md", "memory/**/a.md", True),
        ("pics/a.png", "*.png", True),
        ("a.pngs", "*.png", False),
        ("a.md", "?.md", True),
        ("line\nbreak.md", "*.md", True),
    ],
)
def test_a_pattern_matches_the_paths_it_describes(path: str, pattern: str, fits: bool) -> None:
    assert matches(path, [pattern]) == fits


@pytest.mark.scenario("F112")
def test_a_note_that_becomes_excluded_is_dropped_from_the_state_and_not_deleted() -> None:
    base = KEEP | {"a.md": BaseFile("a", "t", "1", "1")}
    gone = frozenset({"a.md"})

    made = plan(
        base,
        Tree(KEPT_HERE, gone),
        Tree(KEPT_THERE | {"a.md": File(None, "t", "1")}),
        Settings(exclude=("a.*",)),
    )

    assert [type(action) for action in made.actions] == [ForgetBase]
    assert "a.md" in made.skipped


@pytest.mark.scenario("F112")
def test_a_note_that_grows_too_large_is_left_alone_on_both_sides() -> None:
    base = KEEP | {"a.md": BaseFile("a", "t", "1", "1")}
    large = File("b", id="1", size=8 * 1024 * 1024 + 1)

    made = plan(base, Tree(KEPT_HERE | {"a.md": large}), Tree(KEPT_THERE), Settings())

    assert not made.actions
    assert "a.md" in made.skipped


@pytest.mark.scenario("F111")
def test_an_excluded_file_keeps_its_folder_when_the_server_deletes_it() -> None:
    world = World.of({"keep.md": "k", "d": None, "d/a.md": "a"})
    world.local.put("d/.a.md.swp", frozenset({"unsaved"}))
    remove(world.remote, "d", "")

    settled = settle(world, Settings())

    assert set(world.local.things) == {"keep.md", "d", "d/.a.md.swp"}
    assert set(world.remote.things) == {"keep.md"}
    assert settled.passes == 1


def test_only_included_files_and_their_folders_are_synced() -> None:
    here = {
        "d": Dir("1"),
        "d/a.md": File("a"),
        "d/b.png": File("b"),
        "e": Dir("2"),
        "e/c.png": File("c"),
    }

    made = plan({}, Tree(here), Tree({}), Settings(include=("*.md",), exclude=("secret/",)))

    assert [action.path for action in made.actions] == ["d", "d/a.md"]
    assert set(made.skipped) == {"d/b.png", "e/c.png"}


@pytest.mark.scenario("E85")
def test_nothing_below_an_unlisted_folder_is_touched_and_the_rest_is_synced() -> None:
    base = KEEP | {"d": BaseDir("1", "1"), "d/a.md": BaseFile("a", "t", "2", "2")}
    here: dict[str, Node] = KEPT_HERE | {
        "d": Dir("1"),
        "d/a.md": File("changed", id="2"),
        "new.md": File("n"),
    }
    gone = frozenset({"d/a.md"})

    made = plan(base, Tree(here), Tree(KEPT_THERE | {"d": Unknown("503")}, gone))

    assert [action.path for action in made.actions] == ["new.md"]
    assert made.unknown == {"d": "503"}


@pytest.mark.scenario("E86")
def test_a_side_that_cannot_be_listed_at_all_stops_everything() -> None:
    base = KEEP | {"a.md": BaseFile("a", "t", "1", "1")}
    everything = frozenset(base)

    made = plan(base, Tree(KEPT_HERE), Tree({"": Unknown("the root answers 404")}, everything))

    assert not made.actions
    assert made.unknown[""]


@pytest.mark.scenario("E88")
def test_a_file_listed_without_a_tag_is_unknown() -> None:
    made = plan(KEEP, Tree(KEPT_HERE), Tree(KEPT_THERE | {"a.md": File(None)}))

    assert not made.actions
    assert "a.md" in made.unknown


def test_a_symlink_in_place_of_a_note_is_reported_not_followed_or_replaced() -> None:
    base = KEEP | {"a.md": BaseFile("a", "t", "1", "1")}

    made = plan(
        base,
        Tree(KEPT_HERE | {"a.md": Link()}),
        Tree(KEPT_THERE | {"a.md": File("new", "t2", "1")}),
    )

    assert not made.actions
    assert [note.path for note in made.notes] == ["a.md"]


@pytest.mark.sampled
@pytest.mark.scenario("F110")
def test_a_path_that_is_too_deep_is_reported_and_the_rest_is_synced() -> None:
    deep = ["/".join(["d"] * number) for number in range(1, 2100)]
    here: dict[str, Node] = {path: Dir(path) for path in deep}

    made = plan({}, Tree(here | {"a.md": File("a")}), Tree({}))

    assert made.unknown
    assert max(len(action.path) for action in made.actions) <= 4096


@pytest.mark.sampled
@pytest.mark.scenario("F110")
def test_planning_fifty_thousand_notes_takes_no_quadratic_time() -> None:
    here = {f"{number}.md": File("x", id=str(number)) for number in range(50_000)}
    began = process_time()

    made = plan({}, Tree(here), Tree({}))

    assert len(made.actions) == 50_000
    assert process_time() - began < 20


@pytest.mark.parametrize("mode", ["pull", "push", "read-only"])
def test_a_one_way_mode_never_writes_to_its_source_and_converges(mode: Mode) -> None:
    world = World.of({name: name for name in ("a.md", "b.md", "c.md", "d.md", "e.md", "f.md")})
    for side in (world.local, world.remote):
        write(side, "a.md", f"both {side.name}")
        write(side, f"new {side.name}.md", "new")
    write(world.local, "b.md", "mine")
    write(world.remote, "c.md", "theirs")
    remove(world.local, "d.md", "")
    rename(world.remote, "e.md", "z.md")
    before = world.copy()

    settled = settle(world, Settings(mode=mode, approve_deletes=True))

    assert not settled.last.actions
    if mode != "push":
        assert world.remote.shape() == before.remote.shape()
    if mode != "pull":
        assert world.local.shape() == before.local.shape()
    assert (world.base == before.base) == (mode == "read-only")
    if mode == "pull":
        assert {"both L", "both R", "theirs", "new", "mine"} <= world.local.live()
    if mode == "push":
        assert {"both R", "mine"} <= world.remote.live(), "an edit there is not written over"


def test_a_merge_is_not_uploaded_in_pull_mode() -> None:
    base = KEEP | {"a.md": BaseFile("a", "t", "1", "1")}
    here, there = (
        Tree(KEPT_HERE | {"a.md": File("x", id="1")}),
        Tree(KEPT_THERE | {"a.md": File("y", "t2", "1")}),
    )

    (merge,) = plan(base, here, there, Settings(mode="pull")).actions

    assert isinstance(merge, Merge)
    assert changes(merge) == {"local"}


@pytest.mark.scenario("E91")
def test_different_bytes_under_the_same_tag_count_as_a_change() -> None:
    base = KEEP | {"a.md": BaseFile("a", "t", "1", "1")}

    (action,) = plan(
        base,
        Tree(KEPT_HERE | {"a.md": File("a", id="1")}),
        Tree(KEPT_THERE | {"a.md": File("b", "t", "1")}),
    ).actions

    assert isinstance(action, Download)


@every(
    ("path", "names", "reason"),
    [
        ("a.md", Names(), None),
        ("d/CON.md", Names(), None),
        ("d/CON.md", Names(strict=True), "the name is reserved on Windows"),
        ("d/..", Names(), "it is no name for a file"),
        ("d/", Names(), "it is no name for a file"),
        ("a\\b.md", Names(refuses=lambda path: "no"), "there is a backslash in its name"),
        ("d/a.md", Names(refuses=lambda path: f"no {path}"), "no d/a.md"),
        ("d/a.md", Names(refuses=lambda path: None), None),
        ("d/" + "\u00e4" * 127 + "a", Names(), None),
        ("d/" + "\u00e4" * 128, Names(), "the name is longer than 255 bytes"),
    ],
)
def test_a_side_says_why_it_cannot_hold_a_name(path: str, names: Names, reason: str | None) -> None:
    assert unfit(path, names) == reason


@every(
    ("here", "there", "reason"),
    [
        (Special(), None, "it is not a regular file"),
        (Link(), File("x", "t"), "a link is never followed"),
        (None, Special(), "it is neither a file nor a directory on the server"),
        (File("x"), Link(), "it is neither a file nor a directory on the server"),
        (Unknown("it cannot be read"), None, "it cannot be read"),
        (None, File("x"), "the server gives no ETag for it"),
        (File("x"), None, ""),
        (Dir(), Dir(), ""),
    ],
)
def test_a_thing_that_is_no_plain_file_or_cannot_be_known_is_left_alone(
    here: Node | None, there: Node | None, reason: str
) -> None:
    local = KEPT_HERE | ({"a": here} if here else {})
    remote = KEPT_THERE | ({"a": there} if there else {})

    made = plan(KEEP, Tree(local), Tree(remote))

    assert made.unknown.get("a", "") == reason
    assert bool(made.actions) != bool(reason)


def test_a_size_and_a_fight_are_told_for_either_side() -> None:
    settings = Settings(largest=10, fights=frozenset({"b.md"}))
    for side in (0, 1):
        trees = [KEPT_HERE, KEPT_THERE]
        trees[side] = trees[side] | {
            "a.md": File("x", "t", size=11),
            "b.md": File("x", "t", size=10),
            "c.md": File("x", "t", size=10),
        }
        made = plan(KEEP, Tree(trees[0]), Tree(trees[1]), settings)
        assert made.skipped == {"a.md": "it is larger than 10 bytes"}
        assert set(made.unknown) == {"b.md"}
        assert [action.path for action in made.actions] == ["c.md"]
