"""No arguments, however strange, end in a traceback or in words that only a programmer understands."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.scenarios.outside import Outside

COMMANDS = ("index", "search", "read", "notes", "status", "stats", "doctor", "init")
OPTIONS = (
    "--json",
    "--quiet",
    "--vault",
    "--config",
    "--now",
    "--why",
    "--mode",
    "--limit",
    "--since",
    "--until",
    "--kind",
    "--topic",
    "--entity",
    "--user",
    "--channel",
    "--group",
    "--rebuild",
    "--no-embed",
    "--fix",
    "--empty",
    "--copied",
    "--moved",
    "--",
    "-h",
    "--version",
)
VALUES = (
    "2026-01-31",
    "0001-01-01",
    "9999-12-31",
    "0",
    "1",
    "semantic",
    "rrf",
    "USER.md",
    "memory",
    ".",
    "*",
    '"',
    "NEAR(",
    "-",
)
WORDS = st.text(
    st.characters(exclude_characters="\0/~"), max_size=12
)  # no name that leads out of the folder of the test


@pytest.fixture(scope="module")
def small_vault(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    folder = tmp_path_factory.mktemp("little")
    outside = Outside(folder / "vault", folder)
    outside.write("USER.md", "# Me\n\n- tea [topic: drinks]\n- 茶 ☕\n")
    return outside


def assert_plain_answer(outside: Outside, arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=outside.home) as folder:
        done = Outside(
            outside.vault,
            Path(folder),
            outside.settings | {"VAULT_MEMORY_STATE": str(outside.home / "state")},
        ).here(*arguments)
    assert done.code in (0, 1, 2, 3, 4), done
    said = done.out + done.err
    assert "Traceback" not in said
    assert "this is a bug" not in said, done
    assert done.code == 0 or said, "nothing was said"


@settings(max_examples=cases(150))
@given(
    st.sampled_from(COMMANDS),
    st.lists(st.one_of(st.sampled_from(OPTIONS + VALUES), WORDS), max_size=5),
)
@example("search", ["tea", "--now", "0001-01-01"])
@example("search", ["yesterday and last week", "--now", "0001-01-01T00:00+00:00"])
@example("search", ["tomorrow and next year", "--now", "9999-12-31T23:59:59-12:00"])
@example("search", ["tea", "--since", "0001-01-01", "--until", "9999-12-31"])
@example("search", ["\ud800"])
@example("search", ["x", "--user", "\udcff"])
@example("search", ["--", "-x"])
@example("read", ["\udcff.md"])
@example("read", ["\ud800.md", "--json"])
@example("index", ["\udcff"])
@example("init", ["\udcff"])
@example("init", ["\udcff", "--json"])
@example("notes", ["--vault", "\udcff"])
@example("notes", ["--config", "\ud800"])
@example("status", ["--now", "99999-01-01"])
def test_any_arguments_get_a_plain_answer_without_a_traceback(
    small_vault: Outside, command: str, arguments: list[str]
):
    assert_plain_answer(small_vault, [command, *arguments])


@pytest.mark.sampled
@settings(max_examples=50)
@given(st.lists(WORDS, max_size=4).filter(lambda words: not {"run", "demo"} & set(words)))
def test_an_unknown_command_line_gets_a_plain_error(small_vault: Outside, arguments: list[str]):
    assert_plain_answer(small_vault, arguments)


@pytest.mark.sampled
@settings(max_examples=60)
@given(st.text(st.characters(exclude_characters="\0"), min_size=1))
@example('"')
@example("NEAR(a b)")
@example("a AND OR NOT")
@example("c:\\x -y *z (")
@example("👩‍👩‍👧")
@example("茶")
@example("word " * 10_000)
def test_any_text_is_accepted_as_a_query(small_vault: Outside, query: str):
    done = small_vault.here("search", "--json", "--", query)

    assert done.code == 0, done
    assert set(done.json) >= {"hits", "freshness"}
