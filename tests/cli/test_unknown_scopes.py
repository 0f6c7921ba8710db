"""A misspelt person, channel or group is reported on stderr, so that an empty answer is not taken for the truth."""

import pytest

from tests.scenarios.outside import Outside

QUESTIONS = (
    ("search", "hive"),
    ("context", "which hive?"),
    ("notes",),
    ("facts",),
    ("timeline", "ann"),
    ("entity", "ann"),
)
REMARK = (
    "no note belongs to user:nora, channel:pier; check the names: `vault-memory stats` lists all"
)


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write("Users/ann/memories/hives.md", "# Hives\n\n- The white hive\n")
    outside.write("Chnorals/quay/CHANNEL.md", "# quay\n\n- Boats leave at noon\n")
    outside.quick = True
    return outside


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question[0])
def test_a_misspelt_name_is_reported_to_a_person(vault: Outside, question: tuple[str, ...]):
    misspelt = vault.run(*question, "--user", "nora", "--channel", "pier", *opened(question))

    assert misspelt.code == 0
    assert REMARK in misspelt.err.splitlines()
    assert "nora" not in misspelt.out


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question[0])
def test_a_correct_name_is_not_reported(vault: Outside, question: tuple[str, ...]):
    assert "no note" not in vault.run(*question, "--user", "ann").err


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question[0])
@pytest.mark.parametrize("option", ["--json", "--quiet"])
def test_a_program_gets_no_remark_on_stderr(vault: Outside, question: tuple[str, ...], option: str):
    assert vault.run(*question, "--user", "nora", option).err == ""


def test_with_a_daemon_a_misspelt_name_is_reported_too(vault: Outside):
    with vault.daemon():
        for question in QUESTIONS[:2]:
            misspelt = vault.run(*question, "--user", "nora")

            assert "no note belongs to user:nora; check the name: " in misspelt.err


def opened(question: tuple[str, ...]) -> tuple[str, ...]:
    """The option without which a person's notes are left out beside a channel."""
    return ("--private",) if question[0] in ("search", "context") else ()
