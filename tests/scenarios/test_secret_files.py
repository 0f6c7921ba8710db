"""Each file with a secret is read by one rule, whichever configuration key names it."""

import os
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.models.scripted import ScriptedModel, learns
from vault_memory.addons.fleet.fleet_config import FleetConfig
from vault_memory.addons.talk.webhook import talk_routes
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.remote_password import password_of
from vault_memory.config.sections import (
    BrainSettings,
    Config,
    EmbeddingSettings,
    RemoteSettings,
    is_table,
)
from vault_memory.config.server_sections import FleetSettings, Serve, ServeToken, TalkSettings
from vault_memory.errors import VaultMemoryError
from vault_memory.http.application import vault_routes
from vault_memory.http.auth import Access
from vault_memory.http.prometheus import Requests
from vault_memory.http.tokens import Tokens, load_tokens

SECRET = "0123456789abcdef" * 4
SERVER = "http://127.0.0.1:9/v1"
NO_SECRETS = {"remote.ca_file"}
"""Keys that name a file which anybody may read"""
OF_NO_VAULT = {"fleet.password_file"}
"""Keys of processes that serve many vaults"""


def embedding(memory: VaultMemory) -> str:
    memory.vault.semantic.warm()
    return memory.vault.semantic.reason


def embedding_for_doctor(memory: VaultMemory) -> str:
    return next(check.reason for check in memory.doctor() if check.name == "embedder")


def brain(memory: VaultMemory) -> str:
    return next(check.reason for check in memory.doctor() if check.name == "brain")


def remote(memory: VaultMemory) -> str:
    return raised(lambda: password_of(memory.vault.config.remote, {}, memory.root))


def tokens(memory: VaultMemory) -> str:
    return raised(lambda: load_tokens(memory.vault.config.serve.tokens, root=memory.root))


def metrics(memory: VaultMemory) -> str:
    access = Access(Tokens({}), memory.vault.config.serve)
    return raised(lambda: vault_routes(memory, access, Requests()))


def talk(memory: VaultMemory) -> str:
    return raised(lambda: talk_routes(memory, memory.vault.config.talk))


def raised(read: Callable[[], object]) -> str:
    try:
        read()
    except VaultMemoryError as error:
        return error.message if error.hint else "an error without a hint"
    return ""


READERS: dict[str, tuple[Callable[[str], Config], tuple[Callable[[VaultMemory], str], ...]]] = {
    "embedding.api_key_file": (
        lambda file: Config(
            embedding=EmbeddingSettings(
                kind="api", base_url=SERVER, dimensions=3, api_key_file=file
            )
        ),
        (embedding, embedding_for_doctor),
    ),
    "brain.api_key_file": (
        lambda file: Config(
            brain=BrainSettings(kind="openai", base_url=SERVER, model="m", api_key_file=file)
        ),
        (brain,),
    ),
    "remote.password_file": (
        lambda file: Config(
            remote=RemoteSettings(url="https://cloud/", user="ada", password_file=file)
        ),
        (remote,),
    ),
    "remote.credentials_file": (
        lambda file: Config(remote=RemoteSettings(url="s3://homes/ada", credentials_file=file)),
        (remote,),
    ),
    "serve.tokens.token_file": (
        lambda file: Config(serve=Serve(tokens=(ServeToken(user="ada", token_file=file),))),
        (tokens,),
    ),
    "serve.metrics_token_file": (
        lambda file: Config(serve=Serve(metrics_token_file=file)),
        (metrics,),
    ),
    "talk.secret_file": (
        lambda file: Config(talk=TalkSettings(secret_file=file, backend="https://cloud/")),
        (talk,),
    ),
}
"""For each key: a configuration that names the file, and the doors through which it is read"""


def keys_of_files(kind: type = Config, place: str = "") -> Iterator[str]:
    for name, wanted in kind.__annotations__.items():
        row = next(iter(typing.get_args(wanted)), None)
        if is_table(wanted):
            yield from keys_of_files(wanted, f"{place}{name}.")
        elif row is not None and is_table(row):
            yield from keys_of_files(row, f"{place}{name}.")
        elif name.endswith("_file"):
            yield f"{place}{name}"


def test_every_key_that_names_a_secrets_file_is_tested_here() -> None:
    assert set(keys_of_files()) - NO_SECRETS - OF_NO_VAULT == set(READERS)


def inside(folder: Path, vault: Path) -> Path:
    return written(vault / "key")


def linked_from_inside(folder: Path, vault: Path) -> Path:
    (vault / "link").symlink_to(written(folder / "key"))
    return vault / "link"


def linked_to_inside(folder: Path, vault: Path) -> Path:
    (folder / "link").symlink_to(written(vault / "key"))
    return folder / "link"


def readable(folder: Path, vault: Path) -> Path:
    return written(folder / "key", mode=0o640)


def writable(folder: Path, vault: Path) -> Path:
    return written(folder / "key", mode=0o602)


def absent(folder: Path, vault: Path) -> Path:
    return folder / "key"


def a_folder(folder: Path, vault: Path) -> Path:
    (folder / "key").mkdir()
    return folder / "key"


def a_pipe(folder: Path, vault: Path) -> Path:
    os.mkfifo(folder / "key", 0o600)
    return folder / "key"


def empty(folder: Path, vault: Path) -> Path:
    return written(folder / "key", b"\n")


def too_long(folder: Path, vault: Path) -> Path:
    return written(folder / "key", SECRET.encode() * 1000)


def no_text(folder: Path, vault: Path) -> Path:
    return written(folder / "key", SECRET.encode() + b"\xff\xfe")


def several_lines(folder: Path, vault: Path) -> Path:
    return written(folder / "key", f"{SECRET}\n{SECRET}\n".encode())


def impossible(folder: Path, vault: Path) -> Path:
    return folder / "a\0b"


def written(file: Path, raw: bytes = SECRET.encode() + b"\n", mode: int = 0o600) -> Path:
    file.write_bytes(raw)
    file.chmod(mode)
    return file


BAD = {
    inside: "is in the vault",
    linked_from_inside: "is in the vault",
    linked_to_inside: "is in the vault",
    readable: "can be read by others",
    writable: "can be read by others",
    absent: "No such file",
    a_folder: "is not a file",
    a_pipe: "is not a file",
    empty: "is empty",
    too_long: "is longer than 4096 bytes",
    no_text: "is not text",
    several_lines: "",
    impossible: "cannot be that of a file",
}


@pytest.mark.sampled
@pytest.mark.parametrize("key", READERS)
@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
def test_a_bad_secrets_file_is_refused_with_the_same_message_for_each_key(
    key: str, make: Callable[[Path, Path], Path], tmp_path: Path
) -> None:
    with opened(tmp_path, key, make(tmp_path, vault_in(tmp_path))) as memory:
        for read in READERS[key][1]:
            reason = read(memory)
            assert BAD[make] in reason
            assert reason
            assert SECRET not in reason


@pytest.mark.parametrize("key", READERS)
def test_a_secrets_file_of_another_user_is_refused_for_each_key(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, user = written(tmp_path / "key"), os.getuid()
    if user == 0:
        os.chown(file, 54321, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with opened(tmp_path, key, file) as memory:
        for read in READERS[key][1]:
            assert "belongs to another user" in read(memory)


@pytest.mark.parametrize("key", READERS)
def test_a_good_secrets_file_is_read_for_each_key(key: str, tmp_path: Path) -> None:
    with opened(tmp_path, key, written(tmp_path / "key")) as memory:
        for read in READERS[key][1]:
            assert "file" not in read(memory)


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
def test_a_bad_password_file_of_a_fleet_is_refused_alike(
    make: Callable[[Path, Path], Path], tmp_path: Path
) -> None:
    file = make(tmp_path, vault_in(tmp_path))
    if "vault" in BAD[make] or make is several_lines:
        pytest.skip("a fleet has no vault of its own, and a password any letters")
    fleet = FleetSettings(database="postgresql://db.example/l", password_file=str(file))

    reason = raised(lambda: FleetConfig(Config(fleet=fleet), {}).open_ledger())

    assert BAD[make] in reason
    assert SECRET not in reason


def test_a_night_sends_no_key_stored_in_the_vault(tmp_path: Path) -> None:
    """The vault is synced: the provider of the cloud, and everybody it is shared with, has it."""
    with ScriptedModel(learns) as model:
        file = written(vault_in(tmp_path) / "key")
        settings = BrainSettings(
            kind="openai", base_url=model.url, model="m", api_key_file=str(file)
        )
        with memory_in(tmp_path, Config(brain=settings)) as memory:
            memory.record_turn(session="s1", role="user", text="I live in Porto.", user="ada")
            memory.end_session("s1", user="ada")
            report = memory.sleep(scopes=["user:ada"])

        assert not model.asked
        assert "is in the vault" in str(report)


def vault_in(folder: Path) -> Path:
    vault = folder / "vault"
    vault.mkdir(exist_ok=True)
    return vault


def opened(folder: Path, key: str, file: Path) -> VaultMemory:
    return memory_in(folder, READERS[key][0](str(file)))


def memory_in(folder: Path, config: Config) -> VaultMemory:
    if config.embedding == EmbeddingSettings():
        config = config._replace(embedding=EmbeddingSettings(kind="off"))
    places = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_CACHE": str(folder / "cache"),
    }
    return VaultMemory.open(vault_in(folder), config, environment=places)
