"""Each brake brakes, and lets go when it is told to."""

from datetime import datetime, timedelta

import pytest

from tests.every import every
from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    Merge,
    Refetch,
    Refresh,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.plan.planner import SyncPlan, plan
from vault_memory.sync.plan.safety_limits import Rewrite, fights, missing, stamp
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import Base, BaseDir, BaseFile, Dir, File, Tree


def vault(
    files: int, folder: str = ""
) -> tuple[Base, dict[str, File | Dir], dict[str, File | Dir]]:
    """So many notes that are in step, in a folder when one is named, and nothing else."""
    prefix = folder and folder + "/"
    names = [f"{prefix}{number}.md" for number in range(files)]
    base: dict[str, BaseFile | BaseDir] = {
        name: BaseFile(name, f"t{name}", f"l{name}", f"r{name}") for name in names
    }
    here: dict[str, File | Dir] = {name: File(name, id=f"l{name}") for name in names}
    there: dict[str, File | Dir] = {name: File(None, f"t{name}", f"r{name}") for name in names}
    if folder:
        base[folder], here[folder], there[folder] = (BaseDir("ld", "rd"), Dir("ld"), Dir("rd"))
    return base, here, there


def without(nodes: dict[str, File | Dir], *gone: str) -> Tree:
    return Tree({path: node for path, node in nodes.items() if path not in gone}, frozenset(gone))


def kinds(actions: tuple[Action, ...]) -> set[type]:
    return {type(action) for action in actions}


def removed_here(files: int, gone: int, settings: Settings | None = None) -> SyncPlan:
    base, here, there = vault(files)
    return plan(
        base, without(here, *(f"{number}.md" for number in range(gone))), Tree(there), settings
    )


@every(
    ("files", "gone", "brakes"),
    [(30, 10, False), (30, 11, True), (100, 20, False), (100, 21, True)],
)
def test_b1_more_than_ten_deletes_and_a_fifth_of_all_notes_need_approval(
    files: int, gone: int, brakes: bool
) -> None:
    made = removed_here(files, gone)

    assert bool(made.braked) == brakes
    assert len(made.actions) == (0 if brakes else gone)
    assert len(made.held) == (gone if brakes else 0)


def test_b1_approved_deletes_are_carried_out() -> None:
    made = removed_here(30, 25, Settings(approve_deletes=True))

    assert kinds(made.actions) == {DeleteRemote}
    assert len(made.actions) == 25
    assert not made.braked


def test_b1_also_holds_deletes_in_the_vault_while_other_changes_go_on() -> None:
    base, here, there = vault(30)
    gone = [f"{number}.md" for number in range(12)]
    changed = here | {"29.md": File("edited", id="l29.md")}

    made = plan(base, Tree(changed), without(there, *gone))

    assert kinds(made.actions) == {Upload}
    assert kinds(tuple(held.action for held in made.held)) == {TrashLocal}


def test_b1_deleting_all_files_of_a_top_folder_needs_approval_even_if_few() -> None:
    base, here, there = vault(5, "memory")
    other_base, other_here, other_there = vault(60)
    gone = ["memory", *(f"memory/{number}.md" for number in range(5))]

    made = plan(base | other_base, without(here | other_here, *gone), Tree(there | other_there))  # type: ignore[operator]

    assert "memory" in made.braked
    assert kinds(tuple(held.action for held in made.held)) == {DeleteRemote, RemoveRemoteDir}
    assert not made.actions


@pytest.mark.scenario("E94")
def gone_back(back: int, new: int = 0, vanished: int = 0, **settings: bool) -> SyncPlan:
    """Of 30 notes so many that went back on the server, got texts that are new, or are in no listing of it."""
    base, here, there = vault(30)
    names = [f"{number}.md" for number in range(30)]
    changed = {name: File(None, "other", f"r{name}") for name in names[: back + new]}
    missing_there = names[29 : 29 - vanished : -1] if vanished else []
    remote = without(there | changed, *missing_there)
    return plan(base, Tree(here), remote, Settings(gone_back=frozenset(names[:back]), **settings))


@every(
    ("back", "new", "vanished", "brakes"),
    [
        (3, 0, 0, True),
        (2, 0, 0, False),
        (1, 0, 0, False),
        (2, 0, 1, True),
        (1, 0, 1, False),
        (1, 0, 2, True),
        (0, 0, 5, False),
        (4, 4, 0, True),
        (4, 5, 0, False),
    ],
)
def test_b9_many_reverted_notes_need_approval_but_one_or_two_do_not(
    back: int, new: int, vanished: int, brakes: bool
) -> None:
    made = gone_back(back, new, vanished)

    assert bool(made.restored) == brakes
    assert len(made.held) == (back + vanished if brakes else 0)
    assert len(made.actions) == (new if brakes else back + new + vanished)


def test_b9_approved_earlier_texts_are_downloaded() -> None:
    made = gone_back(5, vanished=2, approve_restore=True)

    assert not made.held
    assert kinds(made.actions) == {Download, TrashLocal}


def test_b9_keeps_holding_reverted_notes_until_a_person_answers() -> None:
    assert gone_back(1, restored_before=True).restored
    assert gone_back(0, vanished=1, restored_before=True).restored
    assert not gone_back(0, new=3, restored_before=True).restored


def test_b9_also_holds_a_changed_picture_without_earlier_versions() -> None:
    base, here, there = vault(4)
    base["tea.png"], here["tea.png"] = (BaseFile("p", "tp", "lp", "rp"), File("p", id="lp"))
    there |= {f"{number}.md": File(None, "other", f"r{number}.md") for number in range(3)}
    there["tea.png"] = File(None, "other", "rp")

    made = plan(
        base, Tree(here), Tree(there), Settings(gone_back=frozenset(["0.md", "1.md", "2.md"]))
    )

    assert {held.action.path for held in made.held} == {"0.md", "1.md", "2.md", "tea.png"}


def test_nothing_is_deleted_against_a_restored_server() -> None:
    made = removed_here(30, 1, Settings(no_deletes="the server was restored", approve_deletes=True))

    assert not made.actions
    assert [held.reason for held in made.held] == ["the server was restored"]


@pytest.mark.scenario("E95")
@pytest.mark.parametrize("empty", ["local", "remote"])
def test_b2_one_empty_side_halts_everything(empty: str) -> None:
    base, here, there = vault(3)
    nothing = Tree({".vault-memory": File("marker", "m")}, frozenset(base))

    made = plan(base, *((nothing, Tree(there)) if empty == "local" else (Tree(here), nothing)))

    assert made.halted
    assert not made.actions


def test_b2_allows_a_first_sync_two_empty_sides_and_approved_deletes() -> None:
    base, here, there = vault(3)
    gone = frozenset(base)

    assert kinds(plan({}, Tree({}), Tree(there)).actions) == {Download}
    assert kinds(plan({}, Tree(here), Tree({})).actions) == {Upload}
    assert not plan(base, Tree({}, gone), Tree({}, gone)).halted
    assert kinds(
        plan(base, Tree({}, gone), Tree(there), Settings(approve_deletes=True)).actions
    ) == {DeleteRemote}


@pytest.mark.scenario("E95")
@pytest.mark.parametrize("files", [1, 3, 4])
def test_a_server_with_only_other_files_halts_until_approved(files: int) -> None:
    base, here, _ = vault(files)
    there = Tree({"other.md": File(None, "t", "r")})

    halted = plan(base, Tree(here), there, Settings())
    approved = plan(base, Tree(here), there, Settings(approve_deletes=True))

    assert "other files" in halted.halted
    assert not halted.actions
    assert not approved.halted


@pytest.mark.scenario("E95")
@every("files", [2, 3, 5])
@every(
    ("path", "node"),
    [
        ("0.md", File(None, "t", "r")),
        ("0.md", File("other", "t", "")),
        ("copy.md", File("0.md", "t", "r")),
        ("copy.md", File(None, "t0.md", "r")),
    ],
    ids=["name", "name without id", "text", "tag"],
)
def test_a_server_that_shares_one_name_or_text_halts(files: int, path: str, node: File) -> None:
    base, here, _ = vault(files)
    there = Tree({"other.md": File(None, "t", "r"), path: node})

    assert "other files" in plan(base, Tree(here), there, Settings()).halted


@every(
    "renamed",
    [
        {"renamed.md": File(None, "new", "r0.md")},
        {f"renamed{n}.md": File(None, f"t{n}.md", "new") for n in range(3)},
        {f"renamed{n}.md": File(f"{n}.md", "new") for n in range(3)},
        {"0.md": File(None, "new", "r0.md")},
        {"0.md": File(None, "t0.md")},
    ],
    ids=["id", "tags", "hashes", "edited", "kept"],
)
def test_a_server_with_a_note_of_the_vault_does_not_halt(renamed: dict[str, File]) -> None:
    base, here, _ = vault(3)
    there = Tree({**renamed, "other.md": File(None, "t", "r")})

    assert not plan(base, Tree(here), there, Settings()).halted


def test_edits_and_deletions_of_a_few_notes_do_not_halt() -> None:
    base, here, _ = vault(2)
    there = Tree({"0.md": File("edited", "new")}, frozenset({"1.md"}))

    assert not plan(base, Tree(here), there, Settings()).halted


@pytest.mark.scenario("E90")
def test_b3_when_all_tags_change_contents_are_compared_before_any_transfer() -> None:
    base, here, there = vault(20)
    retagged = {path: File(None, f"new{path}", f"r{path}") for path in there}
    looked = {path: File(path, f"new{path}", f"r{path}") for path in there}

    first, second = (plan(base, Tree(here), Tree(retagged)), plan(base, Tree(here), Tree(looked)))

    assert kinds(first.actions) == {Refetch}
    assert len(first.actions) == 20
    assert kinds(second.actions) == {Refresh}


def test_b4_a_required_note_counts_as_missing_only_after_a_minute() -> None:
    base = {name: BaseFile(name, f"t{name}", name, name) for name in ("USER.md", "keep.md")}
    here = {"keep.md": File("keep.md", id="keep.md")}
    there = Tree({name: File(None, f"t{name}", name) for name in base})
    gone, settings = frozenset({"USER.md"}), Settings(must_exist=frozenset({"USER.md"}))

    soon = plan(base, Tree(here, gone), there, settings)
    later = plan(base, Tree(here, gone, long_gone=gone), there, settings)

    assert missing(here, settings.must_exist) == gone
    assert not soon.actions
    assert "USER.md" in soon.unknown
    assert kinds(later.actions) == {DeleteRemote}


@pytest.mark.scenario("D80")
def test_b6_a_note_that_two_writers_keep_rewriting_is_left_alone() -> None:
    turns = [Rewrite("USER.md", second, ("us", "them")[second % 2]) for second in range(7)]
    alone = [Rewrite("log.md", second, "them") for second in range(50)]
    slow = [Rewrite("slow.md", 20.0 * number, ("us", "them")[number % 2]) for number in range(7)]

    found = fights([*turns, *alone, *slow], now=121.0 - 60.0)
    base, here, there = vault(3)
    made = plan(
        base,
        Tree(here | {"0.md": File("x", id="l0.md")}),
        Tree(there),
        Settings(fights=frozenset({"0.md"})),
    )

    assert found == frozenset()
    assert fights([*turns, *alone, *slow], now=10.0) == {"USER.md"}
    assert not made.actions
    assert "0.md" in made.unknown


def test_b7_a_clock_set_back_never_dates_a_copy_before_the_last_one() -> None:
    last = datetime(2026, 11, 21, 20, 33, 12)

    assert stamp(last - timedelta(days=365), last) == "2026-11-21 203312"
    assert stamp(last + timedelta(seconds=1), last) == "2026-11-21 203313"
    assert stamp(last, None) == "2026-11-21 203312"


@pytest.mark.scenario("E89")
def test_a_delete_waits_for_a_second_sighting_and_is_reported_as_waiting() -> None:
    base, here, there = vault(3)
    fewer = {path: node for path, node in there.items() if path != "0.md"}

    once, twice = (
        plan(base, Tree(here), Tree(fewer)),
        plan(base, Tree(here), Tree(fewer, frozenset({"0.md"}))),
    )

    assert not once.actions
    assert set(once.waiting) == {"0.md"}
    assert kinds(twice.actions) == {TrashLocal}


@pytest.mark.scenario("E94")
@every(("older", "words"), [(["1.md"], "1 note would"), (["1.md", "2.md"], "2 notes would")])
def test_b9_older_files_here_are_not_uploaded_and_what_they_lack_is_not_deleted(
    older: list[str], words: str
) -> None:
    base, here, there = vault(6)
    changed = {name: File(f"older {name}", id=f"l{name}") for name in ("1.md", "2.md", "3.md")}
    edited = {"2.md": File("theirs", "t2", "r2.md"), "4.md": File("theirs", "t4", "r4.md")}
    local, remote = without(here | changed, "5.md"), Tree(there | edited)

    made = plan(base, local, remote, Settings(older_here=frozenset(older)))

    assert words in made.older_here
    held = {(type(entry.action), entry.action.path) for entry in made.held}
    assert {(Upload, "1.md"), (DeleteRemote, "5.md")} <= held
    assert ((Merge, "2.md") in held) == ("2.md" in older)
    done = {(type(action), action.path) for action in made.actions}
    assert {(Upload, "3.md"), (Download, "4.md")} <= done
    let = plan(base, local, remote, Settings(older_here=frozenset(older), approve_restore=True))
    assert (let.older_here, let.held) == ("", ())


@pytest.mark.scenario("E94")
def test_b9_pictures_of_a_restored_server_are_held_with_the_notes_that_went_back() -> None:
    base, here, there = vault(8)
    for name in ("a.png", "new.png"):
        there[name] = File("other", "t9", name)
    base["a.png"], here["a.png"] = BaseFile("mine", "t8", "i", "a.png"), File("mine", id="i")
    back = {f"{number}.md": File(f"old {number}", "t9", f"r{number}.md") for number in range(5)}
    edited = {"5.md": File("new", "t9", "r5.md")}
    settings = Settings(gone_back=frozenset(back), restored_before=True)

    made = plan(base, Tree(here), Tree(there | back | edited), settings)

    assert made.restored
    assert {entry.action.path for entry in made.held} == {*back, "a.png"}
    assert {action.path for action in made.actions} == {"5.md", "new.png"}


def test_b4_a_required_note_that_is_missing_is_named() -> None:
    assert missing({"USER.md": File("u")}, ["USER.md", "MEMORY.md"]) == {"MEMORY.md"}


@pytest.mark.scenario("D80")
def test_b6_a_path_is_a_fight_when_writers_take_turns_often_within_a_minute() -> None:
    def turns(count: int, seconds: float = 1.0, path: str = "a.md") -> list[Rewrite]:
        return [Rewrite(path, at * seconds, "us" if at % 2 else "them") for at in range(count)]

    assert fights(turns(7), 10.0) == {"a.md"}
    assert fights(turns(6), 10.0) == frozenset()
    assert fights(turns(7)[::-1], 10.0) == {"a.md"}, "in any order"
    assert fights([*turns(4), *turns(4, path="b.md")], 10.0) == frozenset()
    assert fights([Rewrite("a.md", at, "us") for at in range(20)], 30.0) == frozenset()
    assert fights(turns(7), 60.0) == {"a.md"}
    assert fights(turns(7), 60.5) == frozenset(), "the first one is too long ago"
    assert fights(turns(7), 5.5) == frozenset(), "the last one has not come yet"
