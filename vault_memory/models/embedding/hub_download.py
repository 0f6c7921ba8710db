"""Downloads a model from its hub repository once, resumably, and checks its SHA-256.

The hub redirects downloads to its storage. The program follows a redirect only here: to the hub
itself or to hosts of its own domains, over HTTPS, without credentials. A file with another SHA-256
than the pinned one is deleted.
"""

import http.client
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.fingerprint import file_sha256
from vault_memory.models.embedding.model_files import ModelFiles
from vault_memory.models.http_client import Unreachable, answer

Progress = Callable[[str, int, int], None]
"""Called during a download with the file name, the bytes received and the total."""

BLOCK = 1 << 18
TIMEOUT = 30.0
HOPS = 3
TRIES = 20


@dataclass(frozen=True, slots=True)
class Hub:
    """The server that publishes models."""

    origin: str = "https://huggingface.co"
    storage: tuple[str, ...] = (".hf.co", ".huggingface.co")
    """Domains to which the hub may redirect"""


@dataclass(frozen=True, slots=True)
class Pinned:
    """One file of a model at one revision, with its size and hash."""

    repository: str
    revision: str
    path: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def address(self) -> str:
        return f"/{self.repository}/resolve/{self.revision}/{self.path}"


MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"

MINILM_X86 = Pinned(
    MINILM,
    MINILM_REVISION,
    "onnx/model_quint8_avx2.onnx",
    23_046_789,
    "b941bf19f1f1283680f449fa6a7336bb5600bdcd5f84d10ddc5cd72218a0fd21",
)
MINILM_ANY = Pinned(
    MINILM,
    MINILM_REVISION,
    "onnx/model.onnx",
    90_405_214,
    "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
)
MINILM_TOKENIZER = Pinned(
    MINILM,
    MINILM_REVISION,
    "tokenizer.json",
    466_247,
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def minilm_pins() -> tuple[Pinned, Pinned]:
    """Return weights and tokenizer of all-MiniLM-L6-v2 for this processor."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return (MINILM_X86 if x86 else MINILM_ANY), MINILM_TOKENIZER


def minilm_folder(cache: Path) -> Path:
    return cache / "models" / "all-MiniLM-L6-v2"


def cached_minilm(cache: Path) -> ModelFiles | None:
    """Return the model when the cache has it; loading checks its bytes."""
    # Fault: only one of two files is there after a download that was killed.
    folder = minilm_folder(cache)
    weights, tokenizer = (folder / pin.name for pin in minilm_pins())
    if not (weights.is_file() and tokenizer.is_file()):
        return None
    return ModelFiles("minilm", weights, tokenizer, max_tokens=256)


def ensure_minilm(
    cache: Path, *, hub: Hub | None = None, progress: Progress | None = None
) -> ModelFiles:
    """Return the model from the cache after downloading missing or damaged files."""
    weights, tokenizer = (
        fetch(pin, minilm_folder(cache), hub=hub, progress=progress) for pin in minilm_pins()
    )
    return ModelFiles("minilm", weights, tokenizer, max_tokens=256)


def fetch(
    pin: Pinned, folder: Path, *, hub: Hub | None = None, progress: Progress | None = None
) -> Path:
    """Return the pinned file in ``folder``; download it when it is missing or damaged.

    Raises ``EmbedderUnavailable`` when that fails.
    """
    target = folder / pin.name
    try:
        places.make_private(folder)
        # Two processes that append to one partial file would mix their bytes.
        with state_file.lock(folder / f".{pin.name}.lock"):
            if not (target.is_file() and file_sha256(target) == pin.sha256):
                _download(
                    pin, target, hub or Hub(), progress or (lambda name, received, total: None)
                )
    except OSError as error:
        raise EmbedderUnavailable(
            f"`{folder}` cannot be written: {error.strerror}", hint="make room for it"
        ) from None
    return target


def _download(pin: Pinned, target: Path, hub: Hub, progress: Progress) -> None:
    partial = target.with_name(f".{pin.name}.part")
    for tries_left in reversed(range(TRIES)):
        before = _size(partial)
        try:
            _continue(pin, partial, hub, progress)
            break
        except Unreachable as error:
            # A flaky connection breaks off often: resume as long as each try adds bytes.
            if _size(partial) <= before or not tries_left:
                raise _unavailable(pin, hub, str(error)) from None
    if file_sha256(partial) != pin.sha256:
        # A damaged part would fail each later try as well.
        partial.unlink()
        raise _unavailable(
            pin, hub, "the downloaded file is not the published file (its SHA-256 differs)"
        )
    # Fault: a reader must never see half of a file. The rename comes after the check of the hash.
    os.replace(partial, target)


def _continue(pin: Pinned, partial: Path, hub: Hub, progress: Progress) -> None:
    """Download the missing end of the file."""
    start = _size(partial)
    # A part of an older revision may be longer than the file.
    if start > pin.size:
        partial.unlink()
        start = 0
    url = hub.origin + pin.address
    # Fault: a server that redirects to itself would keep the download going for ever.
    for _hop in range(HOPS):
        headers = {"Range": f"bytes={start}-"} if start else {}
        if start == pin.size:
            return
        with answer("GET", url, headers=headers, timeout=TIMEOUT) as response:
            if response.status in (301, 302, 303, 307, 308):
                url = onward(url, response.headers.get("Location", ""), hub)
                continue
            _store(pin, response, partial, start, progress)
            return
    raise Unreachable("it redirects too often")


def _store(
    pin: Pinned, response: http.client.HTTPResponse, partial: Path, start: int, progress: Progress
) -> None:
    if response.status not in (200, 206):
        raise Unreachable(f"it answers with status {response.status}")
    content_range = response.headers.get("Content-Range", "")
    resumed = response.status == 206 and content_range.startswith(f"bytes {start}-")
    # Some proxies answer a request for a range with another range.
    if response.status == 206 and not resumed:
        partial.unlink(missing_ok=True)
        raise Unreachable("it resumes at the wrong position")
    # Fault: the server ignores the range and sends the file from its beginning.
    received = start if resumed else 0
    with partial.open("ab" if resumed else "wb") as file:
        while block := response.read1(BLOCK):
            received += len(block)
            # A hostile server could fill the disk.
            if received > pin.size:
                partial.unlink()
                raise Unreachable("it sends more bytes than the file has")
            file.write(block)
            progress(pin.name, received, pin.size)
        # After a crash the renamed file must not be empty.
        file.flush()
        os.fsync(file.fileno())
    # Fault: the connection ended without an error before the last byte.
    if received < pin.size:
        raise Unreachable("the connection was cut")


def onward(url: str, location: str, hub: Hub) -> str:
    """Return the address of a redirect.

    Raises ``Unreachable`` when it leads away from the hub and its domains.
    """
    address = urljoin(url, location)
    old = urlsplit(url)
    new = urlsplit(address)
    is_same_origin = (old.scheme, old.netloc) == (new.scheme, new.netloc)
    # In `https://hf.co@evil.example` the domain of the hub is only a user name.
    is_hub_storage = (
        new.username is None
        and new.scheme == "https"
        and f".{new.hostname or ''}".endswith(hub.storage)
        and new.port in (None, 443)
    )
    if not (is_same_origin or is_hub_storage):
        raise Unreachable(f"it redirects to a foreign host ({new.hostname})")
    return address


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _unavailable(pin: Pinned, hub: Hub, reason: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"`{pin.name}` cannot be fetched from {hub.origin}/{pin.repository}: {reason}",
        hint="try again later, or put the model's files into a folder and name it in `embedding.model`",
    )
