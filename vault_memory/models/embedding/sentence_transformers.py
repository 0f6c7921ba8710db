"""Embeds texts with any model of sentence-transformers, on the CPU; needs torch."""

import hashlib
import threading
from collections.abc import Sequence
from typing import Any

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.base import plain, unit
from vault_memory.models.embedding.fingerprint import fingerprint
from vault_memory.models.embedding.packaged import MINILM_TORCH, TORCH_TOKENIZER, installed, verify
from vault_memory.models.telemetry import opt_out

# The library sends telemetry as soon as it is imported, so the variables come first.
opt_out()

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
HINT = "pip install 'vault-memory[vectors]'"


class SentenceEmbedder:
    """Embeds with a sentence-transformers model, from a folder or the hub."""

    def __init__(self, model: str) -> None:
        self.name = f"sentence {model}"
        self._lock = threading.Lock()
        self._model = _load(_source(model))
        self.dimensions = len(self._vector("one word", query=False)) // 4
        self.fingerprint = fingerprint(
            "sentence", _weights_sha256(self._model), _rules(self._model), self.dimensions
        )

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._vector(text, query=query) for text in texts]

    def _vector(self, text: str, *, query: bool) -> bytes:
        encode = self._model.encode_query if query else self._model.encode_document
        # Each call reconfigures the tokenizer: parallel calls would mix their settings.
        with self._lock:
            return unit(encode(plain(text), show_progress_bar=False).tolist())


def _source(model: str) -> str:
    """Return a folder or a hub name; ``minilm`` uses installed weights first.

    Raises ModelDamaged.
    """
    if model != "minilm":
        return {"multilingual": "intfloat/multilingual-e5-small"}.get(model, model)
    weights = installed(MINILM_TORCH)
    if weights is None:
        return MINILM
    verify((MINILM_TORCH, TORCH_TOKENIZER))
    return str(weights.parent)


def _load(source: str) -> Any:
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise EmbedderUnavailable(
            f"sentence-transformers cannot be loaded: {error}", hint=HINT
        ) from None
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    try:
        model = SentenceTransformer(source, device="cpu")
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise EmbedderUnavailable(
            f"`{source}` cannot be loaded by sentence-transformers: {first}",
            hint="name a folder that contains the model, or connect to the network for a hub name",
        ) from None
    return model.eval()


def _weights_sha256(model: Any) -> str:
    """Hash the loaded weights: a folder and the hub give the same value."""
    import torch

    digest = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}\n".encode())
        digest.update(weight.detach().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _rules(model: Any) -> str:
    """Hash the settings that influence a vector: tokenizer, length, pooling, prompts."""
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    vocabulary = (
        tokenizer.to_str() if tokenizer is not None else sorted(model.tokenizer.get_vocab().items())
    )
    module_configs = [
        repr(module.get_config_dict())
        for module in model.children()
        if hasattr(module, "get_config_dict")
    ]
    return fingerprint(
        vocabulary, model.max_seq_length, module_configs, sorted(model.prompts.items())
    )
