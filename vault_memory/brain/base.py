"""What every embedder promises: texts in, vectors of one length out, and a name for exactly this model."""

import math
import struct
from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how alike they are in meaning."""

    @property
    def name(self) -> str:
        """For people: what embeds, e.g. ``onnx minilm``"""

    @property
    def fingerprint(self) -> str:
        """64 hex digits that change when weights, tokenizer, pooling or dimension do.

        Vectors of two fingerprints never meet.
        """

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One vector per text: float32, little-endian, of unit length. ``query``: the text is a question, not a note.

        Safe to call from several threads. Raises ``EmbedderUnavailable`` when there is nobody to ask.
        """


def unit(vector: Sequence[float]) -> bytes:
    """The vector as float32 bytes, scaled to length 1; ``ValueError`` when it has no direction."""
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise ValueError("a vector of zeros, NaN or infinity has no direction")
    return struct.pack(f"<{len(vector)}f", *[x / length for x in vector])


def plain(text: str) -> str:
    """The text as every tokenizer can take it: no NUL, no half of a surrogate pair."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
