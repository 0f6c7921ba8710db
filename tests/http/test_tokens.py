"""Tokens come from files that nobody else can read, and each opens the notes of one person."""

from pathlib import Path

import pytest

from vault_memory import config
from vault_memory.config.server_sections import ServeToken
from vault_memory.errors import ConfigError
from vault_memory.http.tokens import TokenUnsafe, load_tokens, token_digest
from vault_memory.rules.paths.scopes import Caller

MIRA = "mira-" + "a" * 40
TOMAS = "tomas-" + "b" * 40


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    return tmp_path / "vault"


def written(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_each_configured_token_opens_the_notes_of_its_person(tmp_path: Path, vault: Path):
    mira = written(tmp_path / "mira.token", MIRA + "\n")
    tomas = written(tmp_path / "tomas.token", TOMAS)
    file = tmp_path / "vault-memory.toml"
    file.write_text(
        f'[[serve.tokens]]\nuser = "mira"\ntoken_file = "{mira}"\nchannel = "harbour"\ngroups = ["crew"]\n'
        f'[[serve.tokens]]\nuser = "tomas"\ntoken_file = "{tomas}"\nchannel = "den"\nprivate = true\n'
    )

    tokens = load_tokens(config.load(file, {}).serve.tokens, root=vault)

    assert tokens.get(token_digest(MIRA)) == Caller("mira", "harbour", ("crew",))
    assert tokens.get(token_digest(TOMAS)) == Caller("tomas", "den", private=True)
    assert len(tokens) == 2


@pytest.mark.parametrize(
    "bearer", ["", "x", MIRA[:-1], MIRA + "a", MIRA.upper(), " " + MIRA, "ä\ud800", TOMAS]
)
def test_a_different_text_is_not_accepted_as_a_token(tmp_path: Path, vault: Path, bearer: str):
    tokens = load_tokens([ServeToken("mira", written(tmp_path / "token", MIRA))], root=vault)

    assert tokens.get(token_digest(bearer)) is None


def test_without_tokens_every_request_is_refused(vault: Path):
    assert load_tokens([], root=vault).get(token_digest("")) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_token_file_that_others_can_read_or_write_is_refused(
    tmp_path: Path, vault: Path, mode: int
):
    file = written(tmp_path / "token", MIRA, mode)

    with pytest.raises(TokenUnsafe, match="read by others") as error:
        load_tokens([ServeToken("mira", file)], root=vault)

    assert error.value.hint == f"run `chmod 600 {file}`"
    assert error.value.exit_code == 3


def test_a_token_file_in_the_vault_is_refused_even_behind_a_symlink(tmp_path: Path, vault: Path):
    written(vault / "token", MIRA)
    (tmp_path / "link").symlink_to(vault / "token")

    for file in (vault / "token", tmp_path / "link"):
        with pytest.raises(TokenUnsafe, match="is in the vault"):
            load_tokens([ServeToken("mira", str(file))], root=vault)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("", "is empty"),
        ("a" * 31, "guessed"),
        ("two words " * 5, "unusual"),
        (f"{MIRA}\n{TOMAS}\n", "unusual"),
        ("é" * 40, "unusual"),
    ],
)
def test_a_short_or_odd_token_is_refused_without_being_shown(
    tmp_path: Path, vault: Path, text: str, about: str
):
    with pytest.raises(TokenUnsafe, match=about) as error:
        load_tokens([ServeToken("mira", written(tmp_path / "file", text))], root=vault)

    assert not text or text not in str(error.value) + error.value.hint


def test_a_missing_token_file_is_reported_with_its_setting(tmp_path: Path, vault: Path):
    for file in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ConfigError) as error:
            load_tokens([ServeToken("mira", str(file))], root=vault)
        assert "serve.tokens[0].token_file" in error.value.hint


def test_one_token_for_two_bots_is_refused(tmp_path: Path, vault: Path):
    rows = [
        ServeToken("mira", written(tmp_path / "one", MIRA)),
        ServeToken("tomas", written(tmp_path / "two", MIRA + "\n")),
    ]

    with pytest.raises(TokenUnsafe, match="also that of `mira`") as error:
        load_tokens(rows, root=vault)

    assert MIRA not in str(error.value)


@pytest.mark.parametrize(
    "row",
    [
        {"user": ""},
        {"user": " "},
        {"user": "mi\nra"},
        {"user": "mira", "groups": ("",)},
        {"user": "mira\x00"},
    ],
)
def test_a_token_without_a_person_is_refused(tmp_path: Path, vault: Path, row: dict):
    with pytest.raises(TokenUnsafe, match="nobody"):
        load_tokens([ServeToken(token_file=written(tmp_path / "token", MIRA), **row)], root=vault)
