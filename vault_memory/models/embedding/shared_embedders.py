"""Lets all vaults of a process use one embedder, if they are configured with the same local model.

A model takes tens of megabytes, and an embedder may be used from several threads. So a process
with a thousand vaults loads it once. It is freed when no vault uses it any more. Embedders of a
server are small and are not shared: each vault has its own check of the file with the key.
"""

import os
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.models.embedding.catalog import MODELS, locate
from vault_memory.models.embedding.embedders import load_embedder

if TYPE_CHECKING:
    from vault_memory.config.sections import EmbeddingSettings
    from vault_memory.models.base import Embedder
    from vault_memory.models.embedding.hub_download import Progress

RETRY_SECONDS = 60.0
"""After which a missing or failed embedder is tried again"""
FOLDER_FILES = ("*.onnx", "onnx/*.onnx", "*.safetensors", "*.bin", "*.json", "1_Pooling/*.json")
"""The files of a folder on which the vectors of its model depend"""
Signature = tuple[tuple[str, int, int, int], ...]
"""Name, size, time of change and inode of each file of a model"""
Key = tuple[str, str, str]
"""The settings on which a loaded model depends, and the folder of downloaded models"""


class _Slot:
    """One configured model of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Guards the other fields, also while the model is loaded"""
        self.files: Signature = ()
        """The files that were loaded, or failed to load"""
        self.embedder: weakref.ref[Embedder] | None = None
        self.failure: VaultMemoryError | None = None
        self.failed_at = 0.0


_slots: dict[Key, _Slot] = {}


def shared_embedder(
    embedding: "EmbeddingSettings",
    *,
    cache: Path,
    progress: "Progress | None" = None,
    vault: Path | None = None,
) -> "Embedder | None":
    """Return the configured embedder as `load_embedder` does; a local one only once a process."""
    if embedding.kind in ("off", "api"):
        return load_embedder(embedding, cache=cache, progress=progress, vault=vault)
    slot = _slots.setdefault(_key(embedding, cache), _Slot())
    # Fault: vaults that are opened at once would load the model several times, and fill
    # the memory.
    with slot.lock:
        files = _files(embedding, cache)
        shared = slot.embedder() if slot.embedder is not None else None
        # Fault: a person may install another model in the same folder. Its vectors differ.
        if shared is not None and slot.files == files:
            return shared
        _check_failure(slot, files)
        try:
            loaded = load_embedder(embedding, cache=cache, progress=progress, vault=vault)
        except VaultMemoryError as error:
            slot.embedder, slot.files = None, files
            slot.failure, slot.failed_at = error, time.monotonic()
            raise
        slot.failure = None
        # A first use may have downloaded the files.
        slot.files = _files(embedding, cache)
        slot.embedder = weakref.ref(loaded) if loaded is not None else None
        return loaded


def _check_failure(slot: _Slot, files: Signature) -> None:
    """Raise the error of the last attempt, if these files failed to load a moment ago."""
    # Fault: the hash of a damaged model takes long. A thousand vaults would compute it
    # again and again. Without files an attempt costs little, and its cause may be gone.
    if slot.failure is None or not files or files != slot.files:
        return
    if time.monotonic() - slot.failed_at < RETRY_SECONDS:
        raise slot.failure.with_traceback(None)


def _key(embedding: "EmbeddingSettings", cache: Path) -> Key:
    kind = "onnx" if embedding.kind == "auto" else embedding.kind
    return kind, embedding.model, str(cache)


def _files(embedding: "EmbeddingSettings", cache: Path) -> Signature:
    """Return the files of a model as they are now; empty when they are not known or not there."""
    model = MODELS.get(embedding.model)
    if model is None:
        return _files_below(Path(embedding.model).expanduser())
    location = locate(model, cache)
    return _states([location.weights]) if location is not None else ()


def _files_below(folder: Path) -> Signature:
    """Return the files of a model in a folder of the user."""
    paths: list[Path] = []
    try:
        for pattern in FOLDER_FILES:
            paths += sorted(folder.glob(pattern))
    except OSError:
        # A folder that cannot be read holds no model; loading it reports that.
        return ()
    return _states(paths)


def _states(paths: list[Path]) -> Signature:
    states = []
    for path in paths:
        try:
            stat = os.stat(path)
        except OSError:
            # The file was removed a moment ago, and so the model is another one.
            continue
        states.append((str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return tuple(states)
