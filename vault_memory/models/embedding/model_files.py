"""Where an ONNX model comes from: an installed package, a folder, or the model's own hub repository."""

from dataclasses import dataclass
from pathlib import Path

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.packaged import (
    MINILM_TOKENIZER,
    MINILM_WEIGHTS,
    installed,
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """All that is needed to turn text into vectors, as it lies on this disk."""

    name: str
    model: Path
    """The weights, ``*.onnx``"""
    tokenizer: Path
    """``tokenizer.json``"""
    max_tokens: int
    """Longer texts are cut here: the length the model was made for"""
    pooling: str = "mean"
    """``mean`` over the tokens, or ``cls``: the first token alone"""
    query_prefix: str = ""
    passage_prefix: str = ""
    """Some models want to be told what a text is (``query: ``, ``passage: ``)"""


def installed_minilm() -> ModelFiles | None:
    """all-MiniLM-L6-v2 with int8 weights, when the two packages that carry its halves are installed."""
    weights, tokenizer = installed(MINILM_WEIGHTS), installed(MINILM_TOKENIZER)
    if weights is None or tokenizer is None:
        return None
    return ModelFiles("minilm", weights, tokenizer, max_tokens=256)


def folder_model(folder: Path) -> ModelFiles:
    """The model in a folder laid out as sentence-transformers and the hub do."""
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderUnavailable(
            f"`{folder}` holds no tokenizer.json",
            hint="a model folder needs an `.onnx` file and `tokenizer.json`, as its hub repository has them",
        )
    prompts = _mapping(
        _json(folder / "config_sentence_transformers.json").get("prompts")
    )
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
    found = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path in found:
            return path
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.name for path in found) or "none"
    raise EmbedderUnavailable(
        f"`{folder}` should hold one `.onnx` file or a `model.onnx`; found: {names}",
        hint="keep the one that is meant, or rename it to `model.onnx`",
    )


def _max_tokens(folder: Path) -> int:
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        limit = _json(folder / name).get(key)
        if isinstance(limit, int) and 0 < limit <= 32_768:
            return limit
    return 256


def _pooling(folder: Path) -> str:
    config = _json(folder / "1_Pooling" / "config.json")
    modes = {
        key
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    }
    named = config.get("pooling_mode")
    if named == "cls" or modes == {"pooling_mode_cls_token"}:
        return "cls"
    if named in (None, "mean") and modes <= {"pooling_mode_mean_tokens"}:
        return "mean"
    raise EmbedderUnavailable(
        f"`{folder}` pools its tokens in a way that is not known here",
        hint='mean and cls are; `embedding.kind = "sentence"` knows more',
    )


def _json(path: Path) -> dict[str, object]:
    import json  # only here: a command that asks whether there is a model has no use for it

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
