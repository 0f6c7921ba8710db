"""A wrong pattern of the configuration is refused with what is wrong; a right one is taken."""

import pytest

from tests.every import every
from vault_memory.errors import ConfigError
from vault_memory.rules.paths import pattern_check
from vault_memory.rules.paths.layout import Pattern


@every(
    ("path", "kind", "scope"),
    [
        ("Journal/{date}.md", "dated", "user:{user}"),
        ("Journal/{user}/{date:YYYY-MM-DD}/{name}.md", "note", "user:{user}"),
        ("Rooms/{channel}/**/{path}.md", "note", "channel:{channel}"),
        ("boards/*.canvas", "note", "group:main"),
        ("logs/{group}/{date}.jsonl", "transcript", "group:team-{group}-x"),
    ],
)
def test_a_right_pattern_is_taken(path: str, kind: str, scope: str) -> None:
    pattern_check.check_pattern(Pattern(path, kind, scope))


@every(
    ("path", "kind", "scope", "problem"),
    [
        ("Journal/{day}.md", "dated", "user:{user}", "`{day}` is no capture; known are user"),
        ("Journal/{user:x}.md", "dated", "user:{user}", "is no capture"),
        ("{user}/{user}.md", "note", "user:{user}", "stands in it twice"),
        ("{date}/{date:YYYY-MM-DD}.md", "note", "user:{user}", "stands in it twice"),
        ("/Journal/{date}.md", "dated", "user:{user}", "relative to the vault"),
        ("Journal/{date}.txt", "dated", "user:{user}", "ends in `.md`"),
        ("Journal/{date}.md", "diary", "user:{user}", "`diary` is no kind of note"),
        ("Journal/{date}.md", "dated", "user:", "with one capture at most"),
        ("Journal/{date}.md", "dated", "team:main", "with one capture at most"),
        ("{user}/{group}.md", "note", "user:{user}{group}", "with one capture at most"),
        ("Journal/{date}.md", "dated", "channel:{channel}", "`{channel}` is in the scope"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_problem(
    path: str, kind: str, scope: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        pattern_check.check_pattern(Pattern(path, kind, scope))

    assert f"layout pattern `{path}`: " in str(refused.value)
    assert problem in str(refused.value)
    assert refused.value.hint


@every(
    ("path", "scope", "apart"),
    [
        ("Users/{user}/diary/{date}.md", "user:{user}", True),
        ("Channels/{channel}/x.md", "channel:{channel}", True),
        ("groups/{group}/x.md", "group:{group}", True),
        ("Users/{user}/x.md", "group:main", False),
        ("Users/ann/x.md", "user:{user}", False),
        ("users/{user}/x.md", "user:{user}", False),
        ("GROUPS/{group}/x.md", "group:{group}", False),
        ("Journal/{user}.md", "user:{user}", True),
        ("{date:YYYY}/x.md", "user:{user}", True),
        ("{date:YYYY[a]}/x.md", "user:{user}", False),
        ("{name}/x.md", "user:{user}", False),
        ("*/x.md", "user:{user}", False),
        ("{name}.md", "user:{user}", True),
        ("{path}.md", "user:{user}", False),
        ("**.md", "user:{user}", False),
    ],
)
def test_a_pattern_reaches_the_folders_of_others_or_stays_apart(
    path: str, scope: str, apart: bool
) -> None:
    assert pattern_check.stays_apart(Pattern(path, "note", scope)) is apart


@every("folder", ["Bot", "System/Bot", "Bot files"])
def test_a_folder_of_the_bot_is_taken(folder: str) -> None:
    pattern_check.check_bot_folder(folder)


@every(
    ("folder", "problem"),
    [
        ("", "one or more names of folders"),
        ("a//b", "one or more names of folders"),
        ("/a", "one or more names of folders"),
        (".hidden", "one or more names of folders"),
        ("a/.b", "one or more names of folders"),
        ("{user}", "one or more names of folders"),
        ("a*", "one or more names of folders"),
        ("a\\b", "one or more names of folders"),
        ("Users", "the notes of several people"),
        ("channels/x", "the notes of several people"),
    ],
)
def test_a_folder_that_the_bot_cannot_have_is_refused(folder: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        pattern_check.check_bot_folder(folder)


def test_a_wrong_exclusion_is_refused_and_right_ones_are_taken() -> None:
    pattern_check.check_exclusions(["drafts/", "*.canvas"])
    with pytest.raises(ConfigError, match="layout exclusion"):
        pattern_check.check_exclusions(["drafts/", "a**b.md"])
