"""No spelling of a path leads the memory tool out of the person's folder, and no command of any shape breaks it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.memory_tool.tool import MemoryTool

FOLDER = "Users/alice/memories/"
SECRET = "the treasure is under the pear tree"
BOBS = "Users/bob/memories/secret.md"

TRAVERSALS = [
    "/memories/../../bob/memories/secret.md",
    "/memories/..",
    "/memories/.",
    "/memories/./own.md",
    "/memories/sub/../own.md",
    "/memories/../memories/own.md",
    "/memories/%2e%2e/%2e%2e/bob/memories/secret.md",
    "/memories/%2E%2E%2F%2E%2E%2Fbob%2Fmemories%2Fsecret.md",
    "/memories/..%2f..%2fbob/memories/secret.md",
    "/memories/%252e%252e%252f%252e%252e%252fbob/memories/secret.md",
    "/memories/%25252e%25252e/own.md",
    "/memories/..\\..\\bob\\memories\\secret.md",
    "/memories/..%5c..%5cbob%5cmemories%5csecret.md",
    "/memories\\own.md",
    "\\memories\\own.md",
    "/memories/\uff0e\uff0e/\uff0e\uff0e/bob/memories/secret.md",
    "/memories/\u2025/\u2025/bob/memories/secret.md",
    "/memories/..\uff0f..\uff0fbob/memories/secret.md",
    "/memories/..\u2215..\u2215bob\u2215memories\u2215secret.md",
    "/memories/..\u2044own.md",
    "/memories/%c0%ae%c0%ae/own.md%00",
    "/memories/%" + "25" * 9 + "2e./own.md",
    "/memories/" + "x" * 5000,
    "/memories/own.md\0.txt",
    "/memories/own.md%00.txt",
    "/memories/own\n.md",
    "/memories/own\x7f.md",
    "/memories/\x85own.md",
    "/memories/own\ud800.md",
    "/memories//own.md",
    "/memories/sub//own.md",
    "/memories//etc/passwd",
    "/memoriesX/own.md",
    "/memories.md",
    "/memories-of-bob/own.md",
    "/MEMORIES/own.md",
    "memories/own.md",
    "own.md",
    "/etc/passwd",
    "/",
    "",
    "~/own.md",
    "file:///memories/own.md",
    "C:\\memories\\own.md",
    "/memories/C:/own.md",
    "/Users/bob/memories/secret.md",
    "/memories/linked.md",
    "/memories/linked/secret.md",
    "/memories/outside.md",
    "/memories/dangling.md",
    "/memories/own.md.audit.jsonl",
    "/memories/.hidden.md",
    "/memories/.vault-memory",
]


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    home = tmp_path_factory.mktemp("tool")
    (home / "vault").mkdir()
    made = Outside(home / "vault", home)
    made.write("Users/alice/lantern/config/USER.md", "## Tea\n\n- green\n")
    made.write(BOBS, SECRET + "\n")
    made.write(FOLDER + ".hidden.md", SECRET + "\n")
    (home / "passwd.md").write_text(SECRET)
    own = made.vault / FOLDER
    (own / "linked.md").symlink_to("../../bob/memories/secret.md")
    (own / "linked").symlink_to("../../bob/memories")
    (own / "outside.md").symlink_to(home / "passwd.md")
    (own / "dangling.md").symlink_to("../../bob/memories/new.md")
    return made


@pytest.fixture(scope="module")
def tool(outside: Outside) -> Iterator[MemoryTool]:
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        tool = memory.memory_tool(user="alice")
        tool.execute({"command": "create", "path": "/memories/own.md", "file_text": "mine\n"})
        yield tool


def others(outside: Outside) -> dict[str, bytes | str]:
    """All files of the vault and beside it, but those of the person and of the program."""
    found: dict[str, bytes | str] = {}
    for path in [*outside.vault.rglob("*"), *outside.home.glob("*.md")]:
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file() and not path.is_relative_to(outside.vault / FOLDER):
            found[str(path)] = path.read_bytes()
    return found


def commands(path: str) -> list[dict[str, Any]]:
    return [
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "found\n"},
        {"command": "str_replace", "path": path, "old_str": "treasure", "new_str": "tree"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "found"},
        {"command": "rename", "old_path": path, "new_path": "/memories/got.md"},
        {"command": "rename", "old_path": "/memories/own.md", "new_path": path},
        {"command": "delete", "path": path},
    ]


@every("path", TRAVERSALS, ids=ascii)
def test_a_path_outside_the_folder_is_refused_by_every_command(
    tool: MemoryTool, outside: Outside, path: str
) -> None:
    before = others(outside)

    for command in commands(path):
        answer = tool.execute(command)

        assert answer.is_error, command
        assert SECRET not in answer
    assert others(outside) == before
    assert (outside.vault / FOLDER / "own.md").read_bytes() == b"mine\n"


PIECES = st.sampled_from(
    "memories bob alice secret.md own.md .. . %2e%2e %252e %2f / // \\ %5c \0 %00 \uff0e\uff0e \u2025 \uff0f \u2215 "
    "linked linked.md sub \u202e C:".split(" ")
)


@given(st.lists(PIECES, max_size=8).map("".join), st.integers(0, 6))
@example("../../bob/memories/secret.md", 0)
@example("linked/secret.md", 2)
@settings(max_examples=cases(150), deadline=None)
def test_no_spelling_of_a_path_reads_or_changes_files_of_others(
    tool: MemoryTool, outside: Outside, spelt: str, which: int
) -> None:
    before = others(outside)

    answer = tool.execute(commands(f"/memories/{spelt}")[which])

    assert SECRET not in answer
    assert others(outside) == before
    assert {path.name for path in Path(outside.vault).iterdir()} <= {"Users", ".vault-memory"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just("/memories/own.md"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
KEYS = [
    "path",
    "file_text",
    "old_str",
    "new_str",
    "insert_line",
    "insert_text",
    "old_path",
    "new_path",
    "view_range",
]
NAMES = ["view", "create", "str_replace", "insert", "delete", "rename", "VIEW", "", None, 3]


@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS), JSON))
@example("view", {"path": "/memories/own.md", "view_range": [5, 2]})
@example("view", {"path": "/memories/own.md", "view_range": [True, 2]})
@example("insert", {"path": "/memories/own.md", "insert_line": True, "insert_text": ""})
@example("str_replace", {"path": "/memories/own.md", "old_str": "", "new_str": "x"})
@example("create", {"path": "/memories/x.md", "file_text": "\ud800"})
@example("create", {"path": "/memories/x.md", "file_text": "a\0b"})
@example("create", {"path": "/memories/x.md", "file_text": "x" * (1 << 20) + "x"})
@example("create", {"path": "/memories/" + "x" * 250, "file_text": "x"})
@example("create", {"path": "/memories/" + "x/" * 70 + "x", "file_text": "x"})
@example("create", {"path": "/memories/aux.md", "file_text": "x"})
@settings(max_examples=cases(100), deadline=None)
def test_a_command_of_any_shape_is_answered(
    tool: MemoryTool, name: object, said: dict[str, Any]
) -> None:
    answer = tool.execute({"command": name, **said})

    assert answer
    assert isinstance(answer.is_error, bool)


@pytest.mark.parametrize("name", ["own.md", "OWN.md", "Own"])
def test_a_file_name_that_differs_only_in_case_is_already_taken(
    tool: MemoryTool, name: str
) -> None:
    tool.execute({"command": "create", "path": "/memories/own.md", "file_text": "mine\n"})

    answer = tool.execute(
        {"command": "create", "path": f"/memories/{name}", "file_text": "other\n"}
    )

    assert answer == f"Error: File /memories/{name} already exists"
