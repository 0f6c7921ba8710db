"""Embeds texts through a local or hosted server with OpenAI's ``/v1/embeddings``.

The status, size, shape, order, dimension and every number of an answer are checked before use.
"""

import base64
import json
import math
import struct
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.base import plain, unit
from vault_memory.models.credentials import EMBEDDING, api_key, endpoint, require_https
from vault_memory.models.embedding.fingerprint import fingerprint
from vault_memory.models.http_client import Unreachable, answer, read

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.config.sections import EmbeddingSettings

BATCH = 64
LONGEST = 8_000
"""Characters of one text; servers refuse texts beyond the context of their model"""
LARGEST = 32 << 20
"""Bytes of one answer"""
TRIES = 4
PATIENCE = 60.0
"""The longest accepted pause that a server requests, in seconds"""
BUSY = frozenset({408, 429, 500, 502, 503, 504})
TIMEOUT_SECONDS = 30.0


class ApiEmbedder:
    """Embeds with one model on one server."""

    def __init__(
        self,
        embedding: "EmbeddingSettings",
        *,
        vault: "Path | None" = None,
        timeout: float = TIMEOUT_SECONDS,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._url = embeddings_url(embedding.base_url)
        self._model = embedding.model
        self._timeout = timeout
        self._wait = wait
        self._key = api_key(embedding.api_key_file, vault=vault)
        # Fault: a key must not leave the local network unencrypted.
        require_https(self._key, self._url, EMBEDDING)
        self.name = f"api {embedding.model}"
        self._configured_dimensions = embedding.dimensions
        self.dimensions = embedding.dimensions
        if not self.dimensions:
            self.dimensions = len(self.embed(["one word"])[0]) // 4
        self.fingerprint = fingerprint("api", self._url, self._model, self.dimensions)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """Return one vector per text. Raises ``EmbedderUnavailable``.

        A query is sent once: a user who waits gets keyword results sooner than a retry.
        """
        # Some servers refuse an empty text, and with it all texts of the request.
        sendable = [plain(text)[:LONGEST].strip() or "." for text in texts]
        tries = 1 if query else TRIES
        embedded: list[bytes] = []
        for start in range(0, len(sendable), BATCH):
            batch = sendable[start : start + BATCH]
            embedded += self._batch(batch, tries)
        return embedded

    def _batch(self, texts: list[str], tries: int) -> list[bytes]:
        request: dict[str, object] = {
            "model": self._model,
            "input": texts,
            "encoding_format": "float",
        }
        if self._configured_dimensions:
            request["dimensions"] = self._configured_dimensions
        body = json.dumps(request).encode()
        for attempt in range(1, tries):
            status, retry_seconds, content = self._post(body)
            pause = 0.5 * 2**attempt if retry_seconds is None else retry_seconds
            # A server may request a pause of hours; search by keywords works meanwhile.
            if status not in BUSY or pause > PATIENCE:
                break
            self._wait(pause)
        else:
            status, retry_seconds, content = self._post(body)
        # Fault: a redirect could send the notes and the key to another server.
        if status != 200:
            raise self._refused(status, content, retry_seconds)
        try:
            return vectors(content, len(texts), self.dimensions)
        except ValueError as error:
            raise self._unavailable(
                str(error), "check `embedding.model` and `embedding.dimensions`"
            ) from None

    def _post(self, body: bytes) -> tuple[int, float | None, bytes]:
        """Return the status, the requested pause in seconds, and the body."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            with answer(
                "POST",
                self._url,
                headers=headers,
                body=body,
                timeout=self._timeout,
                deadline=self._timeout,
            ) as response:
                return (
                    response.status,
                    retry_after(response.headers.get("Retry-After")),
                    read(response, LARGEST),
                )
        except Unreachable as error:
            raise self._unavailable(
                str(error), "check that it runs; until then search uses keywords only"
            ) from None

    def _refused(
        self, status: int, content: bytes, retry_seconds: float | None
    ) -> EmbedderUnavailable:
        match status:
            case 401 | 403:
                return self._unavailable(
                    "it does not accept the key", "check `embedding.api_key_file`"
                )
            case 429:
                hint = "send fewer requests; try again later"
                if retry_seconds:
                    hint = f"try again in {retry_seconds:.0f} s"
                return self._unavailable("it is busy (status 429)", hint)
            case _ if 300 <= status < 400:
                return self._unavailable(
                    f"it redirects to another address (status {status})",
                    "set `embedding.base_url` to the final address",
                )
            case _:
                return self._unavailable(
                    f"it answers with status {status}{self._error_text(content)}",
                    "read the log of the server",
                )

    def _error_text(self, content: bytes) -> str:
        """Return the error text of the server, without the key and without control characters."""
        try:
            error = json.loads(content)["error"]
            message = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError, RecursionError):
            return ""
        # Some servers repeat the key, and this text goes to logs and terminals.
        if self._key:
            message = message.replace(self._key, "***")
        # Control characters could write anything on a terminal.
        printable = "".join(c if c.isprintable() else " " for c in message)
        return f": {printable[:200]}"

    def _unavailable(self, reason: str, hint: str) -> EmbedderUnavailable:
        address = urlsplit(self._url)
        server = f"{address.scheme}://{address.netloc}"
        return EmbedderUnavailable(f"the embedding server {server}: {reason}", hint=hint)


def embeddings_url(base: str) -> str:
    """Return the URL for embedding requests."""
    return endpoint(base, "embeddings", EMBEDDING)


def vectors(content: bytes, count: int, dimensions: int) -> list[bytes]:
    """Return the vectors of an answer in the order of the texts.

    Raises ``ValueError`` with the reason when the answer is malformed.
    """
    try:
        data = json.loads(content)["data"]
        # Servers may answer in another order, or without `index`.
        rows = {int(row.get("index", place)): row["embedding"] for place, row in enumerate(data)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its answer is not a list of embeddings") from None
    # A vector that is missing or repeated would give other texts a wrong vector.
    if len(data) != count or set(rows) != set(range(count)):
        raise ValueError(f"it returns {len(data)} vectors for {count} texts")
    numbers = [_numbers(rows[place]) for place in range(count)]
    expected = dimensions or len(numbers[0])
    # Fault: the server changed its model. Vectors of two lengths cannot be compared.
    for vector in numbers:
        if len(vector) != expected:
            raise ValueError(f"its vectors have {len(vector)} numbers instead of {expected}")
    return [unit(vector) for vector in numbers]


def _numbers(embedding: object) -> list[float]:
    """Read one vector; some servers send base64 although the request declined it."""
    try:
        if isinstance(embedding, str):
            # Fault: a server sends base64 with foreign letters, which would be skipped silently.
            raw = base64.b64decode(embedding, validate=True)
            return list(struct.unpack(f"<{len(raw) // 4}f", raw))
        if isinstance(embedding, list) and embedding:
            return [float(x) for x in embedding]
    except (ValueError, TypeError, OverflowError, struct.error):
        pass
    raise ValueError("its vectors are not lists of numbers")


def retry_after(value: str | None) -> float | None:
    """Return the seconds to wait, from a number or a date; None for an unusable header."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    # `float` reads `inf` and `nan`, too.
    if not math.isfinite(seconds):
        return None
    # A date may be in the past when the clocks differ.
    return max(0.0, seconds)
