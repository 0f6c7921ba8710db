"""Models: what turns texts into vectors, and who finds what is worth remembering. Cheap to import; nothing heavy is
loaded before it is asked for."""

from typing import TYPE_CHECKING

from vault_memory.brain.telemetry import opt_out

if TYPE_CHECKING:
    from vault_memory.brain.base import Answer, Brain, Embedder, Rung, unit
    from vault_memory.brain.brains import brain_trouble, load_brain
    from vault_memory.brain.load import available, load_embedder
    from vault_memory.brain.templates import instructions

opt_out()  # here, before any module of this room can import a library that phones home

__all__ = [
    "Answer",
    "Brain",
    "Embedder",
    "Rung",
    "available",
    "brain_trouble",
    "instructions",
    "load_brain",
    "load_embedder",
    "unit",
]

_HOMES = {
    **dict.fromkeys(("Answer", "Brain", "Embedder", "Rung", "unit"), "base"),
    **dict.fromkeys(("brain_trouble", "load_brain"), "brains"),
    **dict.fromkeys(("available", "load_embedder"), "load"),
    "instructions": "templates",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
