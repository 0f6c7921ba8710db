"""Which scopes a caller opens: a person alone, in a room that others read, and the owner of the vault."""

import pytest

from tests.every import every
from vault_memory.errors import UsageError
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scopes import READ_BY_ALL, Caller, check_scope, check_scopes

LAYOUT = Layout([])
OWNER = LAYOUT.user


@every("scope", ["user:mira", "channel:harbour", "group:main", "user:a:b"])
def test_a_scope_names_a_person_a_channel_or_a_group(scope: str) -> None:
    check_scope(scope)
    check_scopes([scope])


@every(
    ("scope", "hint"),
    [
        ("mira", "write `user:mira` for a person, `channel:mira` for a channel"),
        ("", "a scope is such as"),
        ("user:", "a scope is such as"),
        (":mira", "a scope is such as"),
        ("team:mira", "a scope is such as"),
        ("User:mira", "a scope is such as"),
    ],
)
def test_another_name_is_refused_with_the_way_to_write_it(scope: str, hint: str) -> None:
    for check in (check_scope, lambda name: check_scopes(["user:mira", name])):
        with pytest.raises(UsageError) as refused:
            check(scope)
        assert repr(scope) in str(refused.value)
        assert hint in (refused.value.hint or "")


def test_one_text_is_no_list_of_scopes_and_an_empty_list_is() -> None:
    with pytest.raises(UsageError, match="is a list of scopes, not 'user:mira'"):
        check_scopes("user:mira")
    check_scopes([])


@every(
    ("caller", "scopes"),
    [
        (Caller("mira"), ("user:mira",)),
        (Caller("mira", groups=("crew", "band")), ("user:mira", "group:crew", "group:band")),
        (Caller("mira", "harbour"), ("channel:harbour",)),
        (Caller("mira", "harbour", ("crew",)), ("channel:harbour", "group:crew")),
        (
            Caller("mira", "harbour", ("crew",), private=True),
            ("user:mira", "channel:harbour", "group:crew"),
        ),
        (Caller(OWNER), (f"user:{OWNER}", "group:main")),
        (Caller(OWNER, groups=("main",)), (f"user:{OWNER}", "group:main")),
        (Caller(OWNER, "harbour"), ("channel:harbour",)),
        (Caller(OWNER, "harbour", ("main",)), ("channel:harbour", "group:main")),
        (
            Caller(OWNER, "harbour", private=True),
            (f"user:{OWNER}", "channel:harbour", "group:main"),
        ),
    ],
)
def test_the_first_scope_is_the_one_to_write_to_and_a_room_closes_the_persons_own(
    caller: Caller, scopes: tuple[str, ...]
) -> None:
    assert caller.scopes(LAYOUT) == scopes
    assert caller.reads(LAYOUT) == (*scopes, READ_BY_ALL)


def test_the_group_that_all_may_read_is_named_once() -> None:
    caller = Caller("mira", groups=("global",))

    assert caller.reads(LAYOUT) == ("user:mira", READ_BY_ALL)
    with pytest.raises(UsageError, match="whom it serves"):
        Caller("")


@every(
    ("caller", "known", "warned"),
    [
        (Caller("mira"), {"user:ann"}, "the notes belong to others"),
        (Caller("mira"), {"user:ann", "group:main"}, "the notes belong to others"),
        (Caller("mira"), {"group:main"}, f"the notes belong to {OWNER}"),
        (Caller("mira"), {f"user:{OWNER}"}, f"the notes belong to {OWNER}"),
        (Caller("mira"), {"user:ann", READ_BY_ALL}, ""),
        (Caller("mira"), {"user:mira", "user:ann"}, ""),
        (Caller("mira"), {"channel:harbour"}, ""),
        (Caller("mira"), set(), ""),
        (Caller("mira", "harbour"), {"user:ann"}, ""),
        (Caller("mira", "harbour", private=True), {"user:ann"}, "the notes belong to others"),
        (Caller(OWNER), {"group:main"}, ""),
    ],
)
def test_a_person_who_can_read_nothing_is_warned_without_the_names_of_others(
    caller: Caller, known: set[str], warned: str
) -> None:
    found = caller.warning(known, LAYOUT)

    assert found.endswith(warned)
    assert bool(found) == bool(warned)
    assert "ann" not in found
