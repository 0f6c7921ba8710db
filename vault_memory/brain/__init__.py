"""Models: what turns texts into vectors. Cheap to import; nothing heavy is loaded before it is asked for."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.brain.base import Embedder, unit
    from vault_memory.brain.load import available, load_embedder

__all__ = ["Embedder", "available", "load_embedder", "unit"]

_HOMES = {"Embedder": "base", "available": "load", "load_embedder": "load", "unit": "base"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
