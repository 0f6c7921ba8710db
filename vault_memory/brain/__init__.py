"""Models: what turns texts into vectors. Cheap to import; nothing heavy is loaded before it is asked for."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.brain.base import Embedder as Embedder
