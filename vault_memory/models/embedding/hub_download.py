"""Fetching a model from its own hub repository: once, resumable, and only bytes whose hash is known beforehand.

The hub answers with a redirect to its storage. That is the one redirect the program follows: to the hub itself or to
hosts under its own domains, over HTTPS, with no credentials sent, and whatever comes is kept only if its SHA-256 is
the pinned one.
"""

import http.client
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.fingerprint import file_sha256
from vault_memory.models.embedding.model_files import ModelFiles
from vault_memory.models.http_client import Unreachable, answer

Progress = Callable[[str, int, int], None]
"""Told while something is fetched: file name, bytes so far, bytes in all."""

BLOCK = 1 << 18
TIMEOUT = 30.0
HOPS = 3
TRIES = 20


@dataclass(frozen=True, slots=True)
class Hub:
    """Where models are published."""

    origin: str = "https://huggingface.co"
    storage: tuple[str, ...] = (".hf.co", ".huggingface.co")
    """Domains it may send us on to"""


@dataclass(frozen=True, slots=True)
class Pinned:
    """One file of a model at one revision, known down to its bytes."""

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
    """Weights and tokenizer of all-MiniLM-L6-v2 for this processor."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return (MINILM_X86 if x86 else MINILM_ANY), MINILM_TOKENIZER


def minilm_folder(cache: Path) -> Path:
    return cache / "models" / "all-MiniLM-L6-v2"


def cached_minilm(cache: Path) -> ModelFiles | None:
    """The model, when it was fetched before; its bytes are checked when it is loaded."""
    folder = minilm_folder(cache)
    weights, tokenizer = (folder / pin.name for pin in minilm_pins())
    if not (weights.is_file() and tokenizer.is_file()):
        return None
    return ModelFiles("minilm", weights, tokenizer, max_tokens=256)


def fetched_minilm(
    cache: Path, *, hub: Hub | None = None, progress: Progress | None = None
) -> ModelFiles:
    """The model from the cache, whatever is missing or damaged fetched first."""
    weights, tokenizer = (
        fetch(pin, minilm_folder(cache), hub=hub, progress=progress)
        for pin in minilm_pins()
    )
    return ModelFiles("minilm", weights, tokenizer, max_tokens=256)


def fetch(
    pin: Pinned,
    folder: Path,
    *,
    hub: Hub | None = None,
    progress: Progress | None = None,
) -> Path:
    """The pinned file in ``folder``, taken from the hub when it is not there; one process at a time."""
    from filelock import FileLock

    target = folder / pin.name
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(folder / f".{pin.name}.lock"):
            if not (target.is_file() and file_sha256(target) == pin.sha256):
                _download(
                    pin,
                    target,
                    hub or Hub(),
                    progress or (lambda name, done, total: None),
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
            if (
                _size(partial) <= before or not tries_left
            ):  # taken up again while that gains something
                raise _unavailable(pin, hub, str(error)) from None
    if file_sha256(partial) != pin.sha256:
        partial.unlink()
        raise _unavailable(
            pin,
            hub,
            "what came is not the file that was published (its SHA-256 differs)",
        )
    os.replace(partial, target)


def _continue(pin: Pinned, partial: Path, hub: Hub, progress: Progress) -> None:
    """Fetch what is still missing of the file."""
    start = _size(partial)
    if start > pin.size:
        partial.unlink()
        start = 0
    url = hub.origin + pin.address
    for _hop in range(HOPS):
        asked = {"Range": f"bytes={start}-"} if start else {}
        if start == pin.size:
            return
        with answer("GET", url, headers=asked, timeout=TIMEOUT) as response:
            if response.status in (301, 302, 303, 307, 308):
                url = onward(url, response.headers.get("Location", ""), hub)
                continue
            _store(pin, response, partial, start, progress)
            return
    raise Unreachable("it sends us in circles")


def _store(
    pin: Pinned,
    response: http.client.HTTPResponse,
    partial: Path,
    start: int,
    progress: Progress,
) -> None:
    if response.status not in (200, 206):
        raise Unreachable(f"it answers with status {response.status}")
    resumed = response.status == 206 and response.headers.get(
        "Content-Range", ""
    ).startswith(f"bytes {start}-")
    if response.status == 206 and not resumed:
        partial.unlink(missing_ok=True)
        raise Unreachable("it resumes at the wrong place")
    done = start if resumed else 0
    with partial.open("ab" if resumed else "wb") as file:
        while block := response.read1(BLOCK):
            done += len(block)
            if done > pin.size:
                partial.unlink()
                raise Unreachable("it sends more than the file is long")
            file.write(block)
            progress(pin.name, done, pin.size)
        file.flush()
        os.fsync(file.fileno())
    if done < pin.size:
        raise Unreachable("the connection was cut")


def onward(url: str, location: str, hub: Hub) -> str:
    """The address a redirect names, when it stays with the hub."""
    there = urljoin(url, location)
    old, new = urlsplit(url), urlsplit(there)
    same = (old.scheme, old.netloc) == (new.scheme, new.netloc)
    own = (
        new.scheme == "https"
        and f".{new.hostname or ''}".endswith(hub.storage)
        and new.port in (None, 443)
    )
    own = own and new.username is None
    if not (same or own):
        raise Unreachable(f"it points to a foreign place ({new.hostname})")
    return there


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _unavailable(pin: Pinned, hub: Hub, reason: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"`{pin.name}` cannot be fetched from {hub.origin}/{pin.repository}: {reason}",
        hint="try again later, or put the model's files into a folder and name it in `embedding.model`",
    )
