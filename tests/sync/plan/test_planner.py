"""The order of a plan, the directories that its actions need, and what a mode or a doubt holds back."""

from dataclasses import replace
from typing import Any

import pytest

from tests.every import every
from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    MoveLocal,
    MoveRemote,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.plan.per_path import WAITING
from vault_memory.sync.plan.planner import PARENT_MISSING, SyncPlan, batches, plan
from vault_memory.sync.settings import Mode, Settings
from vault_memory.sync.trees import (
    Base,
    BaseDir,
    BaseFile,
    Dir,
    File,
    Link,
    Node,
    Side,
    Tree,
    Unknown,
)

KEPT = "keep.md"


def both(path: str, text: str = "old") -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A file in the base and on both sides, with its bytes known."""
    return {path: BaseFile(text, "t")}, {path: File(text)}, {path: File(text, "t")}


def planned(
    base: Base,
    local: dict[str, Node],
    remote: dict[str, Node],
    settings: Settings | None = None,
    *,
    sure: bool = True,
) -> SyncPlan:
    """The plan, with a note that is the same everywhere, so that no side is empty."""
    known, here, there = both(KEPT)
    base, local, remote = {**known, **base}, {**here, **local}, {**there, **remote}
    paths = {*base, *local, *remote}
    gone_here = frozenset(paths - local.keys()) if sure else frozenset()
    gone_there = frozenset(paths - remote.keys()) if sure else frozenset()
    return plan(base, Tree(local, gone_here), Tree(remote, gone_there), settings)


def shown(made: SyncPlan) -> list[str]:
    return [f"{type(action).__name__} {action.path}" for action in made.actions]


def test_actions_come_in_batches_that_do_not_depend_on_a_later_one() -> None:
    actions: list[Action] = [
        RemoveRemoteDir(path="x"),
        RemoveLocalDir(path="x/y"),
        DeleteRemote(path="x/y/z.md", tag="t"),
        TrashLocal(path="d.md", hash="h"),
        MoveLocal(path="a", to="b"),
        MoveRemote(path="c", to="d"),
        Upload(path="n/m/u.md", hash="h", tag=None),
        Download(path="e.md", hash=None, tag="t"),
        MakeRemoteDir(path="n/m"),
        MakeLocalDir(path="n"),
        ForgetBase(path="f"),
    ]

    assert [[type(action).__name__ for action in batch] for batch in batches(actions)] == [
        ["ForgetBase"],
        ["MakeLocalDir"],
        ["MakeRemoteDir"],
        ["Upload", "Download"],
        ["MoveLocal"],
        ["MoveRemote"],
        ["DeleteRemote", "TrashLocal"],
        ["RemoveLocalDir"],
        ["RemoveRemoteDir"],
    ]


def test_directories_are_made_from_the_top_before_what_goes_into_them() -> None:
    local: dict[str, Node] = {"a": Dir(), "a/b": Dir(), "a/b/c.md": File("x"), "n.md": File("n")}
    remote: dict[str, Node] = {"p": Dir(), "p/q.md": File("y", "t2")}

    made = planned({}, local, remote)

    assert [{*shown(replace(made, actions=batch))} for batch in batches(made.actions)] == [
        {"MakeRemoteDir a", "MakeLocalDir p"},
        {"MakeRemoteDir a/b"},
        {"Download p/q.md", "Upload a/b/c.md", "Upload n.md"},
    ]


def test_an_empty_directory_is_made_and_each_one_once() -> None:
    local: dict[str, Node] = {"a": Dir(), "a/b": Dir()}
    remote: dict[str, Node] = {"p": Dir(), "p/q": Dir()}

    made = planned({}, local, remote)

    assert sorted(shown(made)) == [
        "MakeLocalDir p",
        "MakeLocalDir p/q",
        "MakeRemoteDir a",
        "MakeRemoteDir a/b",
    ]
    assert {action.row for action in made.actions} == {"21", "22"}


@every("side", ["local", "remote"])
def test_a_directory_that_the_base_has_is_made_again_for_a_changed_file_in_it(side: str) -> None:
    base: Base = {"d": BaseDir(), "d/e": BaseDir(), "d/e/n.md": BaseFile("old", "t")}
    changed: dict[str, Node] = {"d": Dir(), "d/e": Dir(), "d/e/n.md": File("new", "t2")}

    made = planned(base, changed, {}) if side == "local" else planned(base, {}, changed)

    make, bring = ("MakeRemoteDir", "Upload") if side == "local" else ("MakeLocalDir", "Download")
    assert shown(made) == [f"{make} d", f"{make} d/e", f"{bring} d/e/n.md"]


def test_a_file_waits_while_a_file_stands_where_its_directory_belongs() -> None:
    local: dict[str, Node] = {"d": Dir(), "d/n.md": File("x")}
    remote: dict[str, Node] = {"d": File("f", "t2")}

    for base, done in (({"d": BaseFile("f", "t2")}, "DeleteRemote d"), ({}, "KeepBoth d")):
        made = planned(base, local, remote)
        assert (shown(made), made.waiting) == ([done], {"d/n.md": PARENT_MISSING})


@pytest.mark.scenario("F111")
@every(
    ("left", "settings"),
    [
        ("d/.hidden", Settings()),
        ("d/x.bin", Settings(exclude=("*.bin",))),
        ("d/big.md", Settings(largest=1)),
        ("d/link.md", Settings()),
        ("d/dark", Settings()),
    ],
)
def test_a_directory_with_something_that_takes_no_part_stays(left: str, settings: Settings) -> None:
    nodes: dict[str, Node] = {
        "d/.hidden": File("h", "t3"),
        "d/x.bin": File("h", "t3"),
        "d/big.md": File("h", "t3", size=2),
        "d/link.md": Link(),
        "d/dark": Unknown("it cannot be read"),
    }
    base: Base = {"d": BaseDir(), "d/n.md": BaseFile("old", "t")}
    local: dict[str, Node] = {"d": Dir(), "d/n.md": File("old"), left: nodes[left]}

    made = planned(base, local, {}, settings)

    assert not [action for action in made.actions if isinstance(action, RemoveLocalDir)]
    whole = planned(base, {path: node for path, node in local.items() if path != left}, {})
    assert shown(whole) == ["TrashLocal d/n.md", "RemoveLocalDir d"]


@pytest.mark.scenario("F107", "F111")
@every("side", ["local", "remote"])
def test_a_file_does_not_wait_for_a_directory_that_something_keeps(side: Side) -> None:
    """The directory has a file that takes no part: it never goes, so the file of its name gets another one."""
    base: Base = {"d": BaseDir(), "d/n.md": BaseFile("old", "t")}
    folder: dict[str, Node] = {"d": Dir(), "d/n.md": File("old", "t"), "d/.hidden": File("h", "t3")}
    file: dict[str, Node] = {"d": File("new", "t2")}

    made = planned(base, folder, file) if side == "remote" else planned(base, file, folder)

    [kept] = [action for action in made.actions if isinstance(action, KeepBoth)]
    assert (kept.path, kept.side) == ("d", side)


@pytest.mark.scenario("E89")
def test_nested_directories_go_from_the_bottom_once_each_absence_is_certain() -> None:
    base: Base = {"d": BaseDir(), "d/e": BaseDir(), "d/e/n.md": BaseFile("old", "t")}
    remote: dict[str, Node] = {"d": Dir(), "d/e": Dir(), "d/e/n.md": File("old", "t")}

    assert shown(planned(base, {}, remote)) == [
        "DeleteRemote d/e/n.md",
        "RemoveRemoteDir d/e",
        "RemoveRemoteDir d",
    ]
    unsure = planned(base, {}, remote, sure=False)
    assert shown(unsure) == []
    assert unsure.waiting == {"d/e/n.md": WAITING}
    empty = planned({"d": BaseDir()}, {}, {"d": Dir()}, sure=False)
    assert (shown(empty), empty.waiting) == ([], {"d": WAITING})


ALL_KINDS: tuple[Base, dict[str, Node], dict[str, Node]] = (
    {
        "up.md": BaseFile("old", "t"),
        "down.md": BaseFile("old", "t"),
        "both.md": BaseFile("old", "t"),
        "gone-here.md": BaseFile("old", "t"),
        "gone-there.md": BaseFile("old", "t"),
    },
    {
        "up.md": File("new"),
        "down.md": File("old"),
        "both.md": File("mine"),
        "gone-there.md": File("old"),
    },
    {
        "up.md": File("old", "t"),
        "down.md": File("new", "t2"),
        "both.md": File("theirs", "t2"),
        "gone-here.md": File("old", "t"),
    },
)


@every(
    ("mode", "done", "why"),
    [
        (
            "both",
            {"Upload up.md", "Download down.md", "Merge both.md"}
            | {"DeleteRemote gone-here.md", "TrashLocal gone-there.md"},
            "",
        ),
        (
            "pull",
            {"Download down.md", "Merge both.md", "TrashLocal gone-there.md"},
            "the server is only read",
        ),
        ("push", {"Upload up.md", "DeleteRemote gone-here.md"}, "the vault is only read"),
        ("read-only", set(), "nothing is written in read-only mode"),
    ],
)
def test_a_mode_writes_to_its_sides_and_says_what_it_holds(
    mode: Mode, done: set[str], why: str
) -> None:
    made = planned(*ALL_KINDS, Settings(mode=mode))

    assert set(shown(made)) == done
    assert {entry.reason for entry in made.held} == ({why} if why else set())
    assert len(made.actions) + len(made.held) == 5
    merges = [action for action in made.actions if isinstance(action, Merge)]
    assert [merge.upload for merge in merges] == ([mode != "pull"] if merges else [])


@pytest.mark.scenario("E90")
def test_when_all_tags_are_new_the_bytes_are_fetched_before_anything_else() -> None:
    names = [f"n{number}.md" for number in range(4)]
    base: dict[str, Any] = {name: BaseFile("old", "t") for name in (*names, KEPT)}
    local: dict[str, Node] = {name: File("new") for name in (*names, KEPT)}
    remote: dict[str, Node] = {name: File(None, "t2") for name in (*names, KEPT)}

    made = plan(base, Tree(local), Tree(remote))
    assert shown(made) == [f"Refetch {name}" for name in sorted((*names, KEPT))]
    for one in (File("old", "t2"), File(None, "t")):
        calm = plan(base, Tree(local), Tree({**remote, KEPT: one}))
        assert shown(calm)[0] == "Upload keep.md"
    few = {name: was for name, was in base.items() if name != KEPT}
    few_remote = {name: remote[name] for name in names}
    assert "Merge n0.md" in shown(plan(few, Tree(local), Tree(few_remote)))


def test_a_note_that_became_a_link_is_told_and_left_alone() -> None:
    known, here, there = both("n.md")
    local = {**here, "n.md": Link(), "new.md": Link()}

    made = planned(known, local, there)

    assert made.actions == ()
    [remark] = made.notes
    assert (remark.path, remark.row) == ("n.md", "20")
    assert "a link is never followed" in remark.text
    assert set(made.unknown) == {"n.md", "new.md"}


def test_what_is_excluded_now_is_forgotten_and_nothing_else_is_done_to_it() -> None:
    base: Base = {"x.bin": BaseFile("old", "t"), "d": BaseDir(), "d/n.md": BaseFile("old", "t")}
    local: dict[str, Node] = {"x.bin": File("new"), "d": Dir(), "d/n.md": File("new")}

    made = planned(base, local, {}, Settings(exclude=("*.bin", "d/")))

    assert shown(made) == ["ForgetBase d", "ForgetBase d/n.md", "ForgetBase x.bin"]


def test_new_tags_and_ids_are_recorded_and_a_record_that_is_up_to_date_is_not() -> None:
    base: Base = {"n.md": BaseFile("old", "t", "1", "9"), "d": BaseDir("2", "8")}
    local: dict[str, Node] = {"n.md": File("old", id="1"), "d": Dir("2")}
    remote: dict[str, Node] = {"n.md": File("old", "t", "9"), "d": Dir("8")}

    assert shown(planned(base, local, remote)) == []
    for change in (
        {"n.md": File("old", "t2", "9")},
        {"n.md": File("old", "t", "7")},
        {"d": Dir("7")},
    ):
        [path] = change
        assert shown(planned(base, local, {**remote, **change})) == [f"Refresh {path}"]
    assert shown(planned(base, local, {**remote, "n.md": File("old", "t"), "d": Dir()})) == []


@pytest.mark.scenario("E88")
def test_a_text_behind_a_new_tag_is_fetched_where_the_decision_needs_it() -> None:
    base: Base = {"a.md": BaseFile("old", "t"), "b.png": BaseFile("old", "t")}
    local: dict[str, Node] = {"b.png": File("mine")}
    remote: dict[str, Node] = {"a.md": File(None, "t2"), "b.png": File(None, "t2")}

    assert sorted(shown(planned(base, local, remote))) == ["Refetch a.md", "Refetch b.png"]
    known = {path: replace(node, hash="new") for path, node in remote.items()}  # type: ignore[type-var]
    assert sorted(shown(planned(base, local, known))) == ["Download a.md", "KeepBoth b.png"]
