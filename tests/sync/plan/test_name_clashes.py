"""Which of two names that one side takes for one has to change, and how the new name is made."""

from typing import Any

from tests.every import every
from vault_memory.sync.actions import KeepBoth, MoveLocal, MoveRemote
from vault_memory.sync.plan.name_clashes import Clashes, beside, find_clashes, moving, same_form
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import BaseDir, BaseFile, Dir, File, Node, Tree, View

COMPOSED, APART = "K\u00f6ln.md", "Ko\u0308ln.md"
CASE, UNICODE = Names(folds_case=True), Names(folds_unicode=True)
BOTH = Names(folds_case=True, folds_unicode=True)


def view(base: str = "", local: str = "", remote: str = "") -> View:
    """Names of files with one text, or of directories with a slash at the end."""

    def nodes(text: str, tag: str) -> dict[str, Node]:
        return {
            name.rstrip("/"): Dir() if name.endswith("/") else File("h", tag)
            for name in text.split()
        }

    known = {
        name.rstrip("/"): BaseDir() if name.endswith("/") else BaseFile("h", "t")
        for name in base.split()
    }
    here, there = nodes(local, ""), nodes(remote, "t")
    paths = sorted({*known, *here, *there}, key=lambda path: path.split("/"))
    return View(known, Tree(here), Tree(there), paths=tuple(paths))


def clashes(seen: View, **settings: Any) -> Clashes:
    used = set(seen.paths)
    given = Settings(stamp="2026-11-21 203312", device="laptop", **settings)
    return find_clashes(seen, given, used)


def renamed(found: Clashes) -> set[tuple[str, str]]:
    return {(copy.path, copy.side) for copy in found.renames}


@every(
    ("base", "local", "remote", "names", "expected"),
    [
        ("", "a.md A.md", "", CASE, {("a.md", "local")}),
        ("a.md", "a.md A.md", "a.md", CASE, {("A.md", "local")}),
        ("", "A.md", "a.md", CASE, {("A.md", "local")}),
        ("", "a.md A.md", "A.md a.md", CASE, {("a.md", "local"), ("a.md", "remote")}),
        ("", "a.md A.md", "", UNICODE, set()),
        ("", f"{COMPOSED} {APART}", "", CASE, set()),
        ("", f"{COMPOSED} {APART}", "", BOTH, {(COMPOSED, "local")}),
        ("", f"{COMPOSED} {APART}", "", UNICODE, {(COMPOSED, "local")}),
        ("", f"{COMPOSED} K\u00d6LN.md", "", CASE, {(COMPOSED, "local")}),
        ("", f"{APART} K\u00d6LN.md", "", CASE, {("K\u00d6LN.md", "local")}),
        ("a.md A.md", "a.md A.md", "a.md A.md", CASE, set()),
        ("", "a.md b.md", "", BOTH, set()),
        ("", "d/ D/ d/x.md D/y.md", "", CASE, set()),
    ],
)
def test_the_name_in_the_base_stays_else_that_of_the_weaker_side(
    base: str, local: str, remote: str, names: Names, expected: set[tuple[str, str]]
) -> None:
    seen = view(base, local, remote)

    assert renamed(clashes(seen, remote_names=names)) == expected
    assert renamed(clashes(seen)) == set(), "both sides tell the names apart"


def test_the_weaker_side_is_the_server_where_neither_can_hold_both() -> None:
    seen = view("", "A.md", "a.md")

    assert renamed(clashes(seen, local_names=CASE)) == {("a.md", "remote")}
    assert renamed(clashes(seen, local_names=CASE, remote_names=CASE)) == {("A.md", "local")}


def test_what_is_below_a_name_that_changes_waits_with_it() -> None:
    found = clashes(view("d/ d/x.md", "d/ d/x.md D/ D/y.md", "d/ d/x.md"), remote_names=CASE)

    assert found.waiting == {"D", "D/y.md"}
    assert found.renames == ()


def test_a_name_waits_until_the_one_before_it_is_gone_on_both_sides() -> None:
    found = clashes(view("a.md", "A.md", "a.md"), remote_names=CASE)

    assert (found.renames, found.waiting) == ((), {"A.md"})


def test_a_copy_says_why_it_has_its_name() -> None:
    [by_case] = clashes(view("", "A.md", "a.md"), remote_names=BOTH).renames
    [by_form] = clashes(view("", f"{APART}", COMPOSED), remote_names=BOTH).renames

    assert by_case.copy == "A (case clash 2026-11-21 203312 laptop).md"
    assert by_form.copy.endswith(" (unicode clash 2026-11-21 203312 laptop).md")
    for copy in (by_case, by_form):
        assert isinstance(copy, KeepBoth)
        assert (copy.hash, copy.tag) == ("h", "")
        assert f"it is now `{copy.copy}`" in copy.note


@every(
    ("path", "name"),
    [
        ("d/a.md", "d/a (x).md"),
        ("README", "README (x)"),
        (".md", ".md (x)"),
        ("a.tar.gz", "a.tar (x).gz"),
        ("a .md", "a (x).md"),
    ],
)
def test_a_mark_stands_before_the_ending(path: str, name: str) -> None:
    assert beside(path, "x", ()) == name


def test_a_used_name_gets_a_number_and_a_long_one_is_cut() -> None:
    assert beside("a.md", "x", {"a (x).md", "a (x 2).md"}) == "a (x 3).md"
    long = beside("d/" + "\u00e4" * 200 + ".md", "x", ())
    assert long.startswith("d/" + "\u00e4" * 100)
    assert len(long.removeprefix("d/").encode()) <= 255
    assert moving("d/a (memory move).md")
    assert moving("d/a (memory move 2).md")
    assert not moving("a (memory move)/b.md")


@every(
    ("base", "local", "remote", "names", "expected"),
    [
        (COMPOSED, APART, COMPOSED, Names(), ["L"]),
        (COMPOSED, COMPOSED, APART, Names(), ["R"]),
        (COMPOSED, f"{COMPOSED} {APART}", COMPOSED, Names(), []),
        (COMPOSED, APART, APART, Names(), []),
        ("", APART, "", UNICODE, ["L"]),
        ("", APART, "", Names(), []),
        ("", APART, APART, UNICODE, []),
        ("", f"{APART} {COMPOSED}", "", UNICODE, []),
        ("", COMPOSED, "", UNICODE, []),
        ("", "Ko\u0308ln/", "", UNICODE, []),
        ("", "a.md", "", UNICODE, []),
    ],
)
def test_a_name_in_another_unicode_form_is_renamed_where_it_is_the_same_file(
    base: str, local: str, remote: str, names: Names, expected: list[str]
) -> None:
    moves = same_form(view(base, local, remote), Settings(remote_names=names))

    kinds = {MoveLocal: "L", MoveRemote: "R"}
    assert [kinds[type(move)] for move in moves] == expected
    for move in moves:
        assert (move.path, move.to) == (APART, COMPOSED)


def test_another_text_under_the_other_form_is_another_file() -> None:
    seen = view(COMPOSED, "", COMPOSED)
    changed = View(seen.base, Tree({APART: File("other")}), seen.remote, paths=(*seen.paths, APART))

    assert same_form(changed, Settings()) == []
