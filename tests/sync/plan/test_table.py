"""All 99 cells of the decision table, one by one, against the rows of the book and what a plan does for them."""

from collections.abc import Iterator

import pytest

from tests.every import every
from tests.sync.pretend import Side, Thing, World, check, settle
from vault_memory.sync.actions import Action, KeepBoth
from vault_memory.sync.plan.decision_table import Now, Was, cell
from vault_memory.sync.plan.planner import plan
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import (
    Base,
    BaseDir,
    BaseFile,
    Dir,
    File,
    Link,
    Node,
    Special,
    Tree,
    Unknown,
)

NOTE = "p.md"
LETTERS: dict[Was, str] = {"file": "=≠-DL?", "none": "-FDL?", "dir": "=≠-FL?"}

# base, local, remote: row | what the plan does at the path, or in it (`n` a new note, `c` one of the base)
BOOK = """
file = = 1  |
file ≠ = 2  | Upload
file = ≠ 3  | Download
file ≠ ≠ 5  | Merge
file - = 6  | DeleteRemote
file = - 7  | TrashLocal
file - - 8  | ForgetBase
file - ≠ 9  | Download
file ≠ - 10 | Upload
file D = 11 | DeleteRemote
file = D 12 | TrashLocal
file D ≠ 13 | KeepBoth(remote)
file ≠ D 14 | KeepBoth(local)
file - D 15 | MakeLocalDir Download/n
file D - 16 | MakeRemoteDir Upload/n
file D D 17 | RecordInSync Merge/n
none - - 8  |
none F - 21 | Upload
none D - 21 | MakeRemoteDir Upload/n
none - F 22 | Download
none - D 22 | MakeLocalDir Download/n
none F F 24 | Merge
none F D 25 | KeepBoth(local)
none D F 26 | KeepBoth(remote)
none D D 27 | RecordInSync Merge/n
dir  = = 27 |
dir  = ≠ 27 | Download/c
dir  ≠ = 27 | Upload/c
dir  ≠ ≠ 27 | Merge/c
dir  - = 28 | DeleteRemote/c RemoveRemoteDir
dir  - ≠ 29 | MakeLocalDir Download/c
dir  = - 30 | TrashLocal/c RemoveLocalDir
dir  ≠ - 31 | MakeRemoteDir Upload/c
dir  F = 32 | DeleteRemote/c RemoveRemoteDir
dir  F - 32 | ForgetBase/c Upload
dir  F ≠ 33 | KeepBoth(local)
dir  = F 34 | TrashLocal/c RemoveLocalDir
dir  - F 34 | ForgetBase/c Download
dir  ≠ F 34a | KeepBoth(remote)
dir  F F 34b | ForgetBase/c Merge
dir  - - 35 | ForgetBase ForgetBase/c
"""
EQUAL = {
    "file": ("4", "RecordInSync"),
    "none": ("23", "RecordInSync"),
    "dir": ("34b", "RecordInSync ForgetBase/c"),
}


def cells() -> Iterator[tuple[Was, Now, Now, bool]]:
    for was, letters in LETTERS.items():
        for local in letters:
            for remote in letters:
                yield was, local, remote, False  # type: ignore[misc]
        yield (was, ("≠" if was == "file" else "F"), ("≠" if was == "file" else "F"), True)


def book() -> dict[tuple[str, str, str], tuple[str, str]]:
    rows = {}
    for line in BOOK.strip().splitlines():
        state, _, does = line.partition("|")
        was, local, remote, row = state.split()
        rows[was, local, remote] = (row, does.strip())
    return rows


def one_side(was: Was, now: Now, *, remote: bool, equal: bool) -> dict[str, Node]:
    """One side of a cell; its other note says that this is no empty side."""
    mine = "theirs" if remote and not equal else "mine"

    def file(text: str, tag: str) -> File:
        return File(text, tag if remote else "", tag)

    nodes: dict[str, Node] = {"keep.md": file("keep", "k")}
    if now == "?":
        nodes[NOTE] = Unknown("it cannot be read")
    elif now == "L":
        nodes[NOTE] = Special() if remote else Link()
    elif now == "D" or (was == "dir" and now in "=≠"):
        nodes[NOTE] = Dir("d")
        child = "n.md" if now == "D" else "c.md"
        nodes[f"{NOTE}/{child}"] = (
            file("old", "t") if now == "=" else file("theirs" if remote else "mine", "t2")
        )
    elif now != "-":
        nodes[NOTE] = file("old", "t") if now == "=" else file(mine, "t3")
    return nodes


def three_trees(was: Was, local: Now, remote: Now, equal: bool) -> tuple[Base, Tree, Tree]:
    base: dict[str, BaseFile | BaseDir] = {"keep.md": BaseFile("keep", "k", "k", "k")}
    if was == "file":
        base[NOTE] = BaseFile("old", "t", "t", "t")
    elif was == "dir":
        base |= {NOTE: BaseDir("d", "d"), f"{NOTE}/c.md": BaseFile("old", "t", "t", "t")}
    here = one_side(was, local, remote=False, equal=equal)
    there = one_side(was, remote, remote=True, equal=equal)
    every = frozenset({NOTE, f"{NOTE}/c.md", f"{NOTE}/n.md"})
    return base, Tree(here, every - here.keys()), Tree(there, every - there.keys())


def said(action: Action) -> str:
    child = action.path.removeprefix(NOTE).removesuffix(".md")
    return (
        type(action).__name__ + (f"({action.side})" if isinstance(action, KeepBoth) else "") + child
    )


def test_the_decision_table_has_ninety_nine_cells() -> None:
    asked_for_equal_bytes = {(was, equal) for was, _, _, equal in cells() if equal}

    assert len(list(cells())) == 6 * 6 + 5 * 5 + 6 * 6 + 3
    assert len(asked_for_equal_bytes) == 3, (
        "the third is a directory that is a file on both sides: rows 23 and 24"
    )


@pytest.mark.scenario("F104")
@every(("was", "local", "remote", "equal"), cells())
def test_each_cell_has_the_documented_row_and_action(
    was: Was, local: Now, remote: Now, equal: bool
) -> None:
    if local == "L":
        row, does = "20", ""
    elif "?" in (local, remote) or remote == "L":
        row, does = ("18" if local == "?" else "19"), ""
    else:
        row, does = EQUAL[was] if equal else book()[was, local, remote]

    made = plan(*three_trees(was, local, remote, equal))

    assert cell(was, local, remote, equal=equal)[0] == row
    assert sorted(said(action) for action in made.actions) == sorted(does.split())
    assert all(action.row in (row, *map(str, range(1, 36))) for action in made.actions)
    if {local, remote} & {"L", "?"}:
        assert NOTE in made.unknown


@pytest.mark.scenario("F104", "F106", "F107")
@every(
    ("was", "local", "remote", "equal"),
    [each for each in cells() if not {"L", "?"}.intersection(each[1:3])],
)
def test_both_sides_converge_from_each_cell_and_then_stay_quiet(
    was: Was, local: Now, remote: Now, equal: bool
) -> None:
    base, here, there = three_trees(was, local, remote, equal)
    world = World.of({})
    world.base = dict(base)
    for side, tree in ((world.local, here), (world.remote, there)):
        fill(side, tree)
    before = world.copy()

    settled = settle(world, Settings())

    check(before, world)
    assert settled.passes <= 4
    assert settled.refused == 0
    assert not settled.last.held


def fill(side: Side, tree: Tree) -> None:
    for path, node in tree.nodes.items():
        text = frozenset({node.hash or ""}) if isinstance(node, File) else None
        side.things[path] = Thing(text, getattr(node, "id", ""), getattr(node, "tag", ""))


@pytest.mark.parametrize("was", LETTERS)
def test_a_removed_note_is_not_treated_as_deleted_at_first_sight(was: Was) -> None:
    base, here, there = three_trees(was, "-", "=" if was != "none" else "-", False)

    made = plan(base, Tree(here.nodes), there)

    assert not made.actions
    assert (NOTE in made.waiting) == (was == "file")


REMOVALS: list[tuple[Was, Now, Now]] = [
    ("file", "-", "="),
    ("file", "=", "-"),
    ("file", "-", "-"),
    ("dir", "-", "-"),
    ("dir", "-", "="),
    ("dir", "=", "-"),
]


@pytest.mark.scenario("E89")
@every(("was", "local", "remote"), REMOVALS)
def test_a_removal_waits_until_each_side_that_lacks_the_path_is_certain(
    was: Was, local: Now, remote: Now
) -> None:
    base, here, there = three_trees(was, local, remote, False)
    lacks = [side for side, now in enumerate((local, remote)) if now == "-"]

    for unsure in lacks:
        trees = [here, there]
        trees[unsure] = Tree(trees[unsure].nodes)
        made = plan(base, *trees)
        assert not made.actions, f"side {unsure} has seen the absence once"
        assert set(made.waiting) & {NOTE, f"{NOTE}/c.md"}

    made = plan(base, here, there)
    assert made.actions
    assert not made.waiting


@pytest.mark.scenario("F106")
def test_a_note_changed_in_a_removed_folder_survives_and_the_others_are_deleted() -> None:
    world = World.of({"keep.md": "k", "d": None, "d/a.md": "a", "d/b.md": "b"})
    for path in ("d/a.md", "d/b.md", "d"):
        del world.local.things[path]
    world.remote.put("d/a.md", frozenset({"a", "more"}))
    before = world.copy()

    settle(world, Settings())

    check(before, world)
    assert set(world.local.things) == {"keep.md", "d", "d/a.md"}


@pytest.mark.scenario("F107")
@pytest.mark.parametrize("directory_on_server", [True, False])
def test_a_file_and_a_folder_of_the_same_name_are_both_kept(directory_on_server: bool) -> None:
    world = World.of({"keep.md": "k"})
    folder, note = (
        (world.remote, world.local) if directory_on_server else (world.local, world.remote)
    )
    folder.mkdir("p.md")
    folder.put("p.md/in.md", frozenset({"inside"}))
    note.put("p.md", frozenset({"text"}))
    before = world.copy()

    settle(world, Settings(stamp="2026-11-21 203312"))

    check(before, world)
    assert set(world.local.things) == {
        "keep.md",
        "p.md",
        "p.md/in.md",
        "p (memory copy 2026-11-21 203312 was a file).md",
    }
