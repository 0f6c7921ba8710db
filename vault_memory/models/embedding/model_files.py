"""Locates the files of an ONNX model in installed packages or in a folder."""

from dataclasses import dataclass
from pathlib import Path

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.packaged import MINILM_TOKENIZER, installed


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The local files and settings that turn text into vectors."""

    name: str
    model: Path
    """The weights, ``*.onnx``"""
    tokenizer: Path
    """``tokenizer.json``"""
    max_tokens: int
    """The length the model was trained for; longer texts are truncated"""
    pooling: str = "mean"
    """``mean`` over the tokens, or ``cls``: the first token alone"""
    query_prefix: str = ""
    passage_prefix: str = ""
    """Prefixes by which some models distinguish texts (``query: ``, ``passage: ``)"""


def minilm_at(weights: Path) -> ModelFiles:
    """Return all-MiniLM-L6-v2 with these weights and the tokenizer of this program."""
    tokenizer = installed(MINILM_TOKENIZER)
    # Fault: a packager may have left the file out.
    if tokenizer is None:
        raise EmbedderUnavailable(
            "this installation has no tokenizer for the model",
            hint="install it again: pip install --force-reinstall --no-deps vault-memory",
        )
    return ModelFiles("minilm", weights, tokenizer, max_tokens=256)


def folder_model(folder: Path) -> ModelFiles:
    """Return the model in a folder with the layout of sentence-transformers.

    Raises ``EmbedderUnavailable`` when files are missing or unreadable.
    """
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderUnavailable(
            f"`{folder}` holds no tokenizer.json",
            hint="a model folder needs an `.onnx` file and `tokenizer.json`, as its hub repository has them",
        )
    prompts = _mapping(_json(folder / "config_sentence_transformers.json").get("prompts"))
    return ModelFiles(
        name=folder.name,
        model=_weights(folder),
        tokenizer=tokenizer,
        max_tokens=_max_tokens(folder),
        pooling=_pooling(folder),
        query_prefix=str(prompts.get("query") or ""),
        passage_prefix=str(prompts.get("passage") or prompts.get("document") or ""),
    )


def _weights(folder: Path) -> Path:
    candidates = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path in candidates:
            return path
    # Fault: with several weights a guess could take those of another model.
    if len(candidates) == 1:
        return candidates[0]
    names = ", ".join(path.name for path in candidates) or "none"
    raise EmbedderUnavailable(
        f"`{folder}` should hold one `.onnx` file or a `model.onnx`; found: {names}",
        hint="keep one `.onnx` file, or rename one to `model.onnx`",
    )


def _max_tokens(folder: Path) -> int:
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        limit = _json(folder / name).get(key)
        # Fault: a tokenizer may name an absurd length, which would fill the memory.
        if isinstance(limit, int) and 0 < limit <= 32_768:
            return limit
    return 256


def _pooling(folder: Path) -> str:
    config = _json(folder / "1_Pooling" / "config.json")
    modes = {
        key for key, value in config.items() if key.startswith("pooling_mode_") and value is True
    }
    named = config.get("pooling_mode")
    if named == "cls" or modes == {"pooling_mode_cls_token"}:
        return "cls"
    if named in (None, "mean") and modes <= {"pooling_mode_mean_tokens"}:
        return "mean"
    # Fault: another pooling would give vectors that mean nothing.
    raise EmbedderUnavailable(
        f"`{folder}` pools its tokens in a way that this program does not know",
        hint='use a model with mean or cls pooling, or set `embedding.kind = "sentence"`',
    )


def _json(path: Path) -> dict[str, object]:
    import json  # slow to import, and most commands never read a model folder

    try:
        return _mapping(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(
            f"`{path}` cannot be read: {error}", hint="fetch the model's folder again"
        ) from None


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
