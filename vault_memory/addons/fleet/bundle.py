"""The bundle: what has to survive a machine of one vault's state folder, as one object.

It is a zip file: first a manifest, then the parts. The manifest names format, vault, fleet, epoch,
and a digest of each part. It is signed with the secret of the fleet, because everybody who may write to
the home could otherwise plant a configuration with commands, or a database. Equal parts make equal
bytes, so a bundle is stored only when a part has changed.
"""

import hashlib
import hmac
import io
import json
import os
import re
import tomllib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vault_memory import places
from vault_memory.addons.fleet.database_copy import copy_database
from vault_memory.addons.fleet.fleet_errors import AnotherFleet, BundleDamaged, BundleNewer
from vault_memory.addons.fleet.state_files import StateFile, row_of
from vault_memory.config.durable import sync_folder
from vault_memory.errors import ConfigError

FORMAT = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.signature"
LARGEST = 256 << 20
"""Bytes of a bundle, packed and unpacked"""
_EPOCH_OF_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of each entry of the zip file: equal parts must make equal bytes"""


@dataclass(frozen=True, slots=True)
class BundleOwner:
    """Whose bundle it is."""

    vault: str
    """The vault's id: 32 hex digits; "" for whichever vault it is"""
    fleet: str
    """The id of the fleet"""
    secret: str = field(repr=False)
    """Known to the hosts of the fleet only; it signs the manifest"""


@dataclass(frozen=True, slots=True)
class BundledFile:
    """One file of the state folder."""

    path: str
    digest: str
    """SHA-256 in hex"""
    modified: float = 0.0
    """Unix seconds, where the time of the file has a meaning; else 0"""
    raw: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The parts of one vault at one moment."""

    owner: BundleOwner
    epoch: int
    """Epoch of the lease under which it was written"""
    files: tuple[BundledFile, ...]

    @property
    def fingerprint(self) -> str:
        """The same for bundles with the same parts, also under another epoch."""
        entries = [[stored.path, stored.digest, stored.modified] for stored in self.files]
        return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


Signature = tuple[tuple[str, int, int, int], ...]
"""Path, size, time and inode of each kept file"""


def signature_of(state: Path) -> Signature:
    """Return numbers that differ after each change of a kept file; reads no file."""
    signature = []
    for path, file, row in _kept_files(state):
        companions = [file]
        if row.form == "sqlite":
            # The newest rows of an open database are in its log.
            companions.append(file.with_name(f"{file.name}-wal"))
        for companion in companions:
            if companion.exists():
                stat = companion.stat()
                entry = (path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
                signature.append(entry)
    return tuple(signature)


def collect(state: Path, owner: BundleOwner, epoch: int) -> Bundle:
    """Read the parts of a state folder. Databases may be open: their copies are consistent."""
    files = []
    for path, file, row in _kept_files(state):
        try:
            raw, modified = _read(file, row)
        except FileNotFoundError:
            # A session ended, or a dropped file was recorded, after the listing.
            continue
        files.append(BundledFile(path, _digest(raw), modified, raw))
    return Bundle(owner, epoch, tuple(files))


def pack(bundle: Bundle) -> bytes:
    """Return the bytes of a bundle."""
    manifest = {
        "format": FORMAT,
        "vault": bundle.owner.vault,
        "fleet": bundle.owner.fleet,
        "epoch": bundle.epoch,
        "parts": {
            stored.path: {"sha256": stored.digest, "modified": stored.modified}
            for stored in bundle.files
        },
    }
    raw = json.dumps(manifest, indent=1).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        _add(archive, MANIFEST, raw)
        _add(archive, SIGNATURE, _sign(bundle.owner, raw).encode())
        for stored in bundle.files:
            _add(archive, f"state/{stored.path}", stored.raw)
    return packed.getvalue()


def unpack(raw: bytes, owner: BundleOwner) -> Bundle:
    """Read a bundle and check it. Raises BundleNewer, AnotherFleet, BundleDamaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return _unpack(archive, owner)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise BundleDamaged(f"it is no zip file: {error}") from None
    except (KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise BundleDamaged(f"it is incomplete: {error}") from None


def install(bundle: Bundle, state: Path) -> None:
    """Replace the kept files of a state folder that no process has open.

    A crash leaves a mixture: install again then.
    """
    for _, file, _ in list(_kept_files(state)):
        file.unlink()
    for stored in bundle.files:
        file = state / stored.path
        places.make_private(file.parent)
        # Fault (B45): SQLite would apply the log of an old database to the new one.
        for ending in ("-wal", "-shm"):
            file.with_name(file.name + ending).unlink(missing_ok=True)
        _write(file, stored)
    sync_folder(state)


def _unpack(archive: zipfile.ZipFile, owner: BundleOwner) -> Bundle:
    # Fault: a small file may unpack to one that fills the memory.
    if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
        raise BundleDamaged(f"it has more than {LARGEST} bytes")
    raw = archive.read(MANIFEST)
    manifest: dict[str, Any] = json.loads(raw)
    number = int(manifest["format"])
    # Fault: an older host would drop the parts that it does not know.
    if number > FORMAT:
        raise BundleNewer(number, FORMAT)
    if manifest["fleet"] != owner.fleet:
        raise AnotherFleet
    signature = archive.read(SIGNATURE).decode()
    # Fault: the person whose home it is could plant a command or a database.
    if not hmac.compare_digest(signature, _sign(owner, raw)):
        raise BundleDamaged("another program has changed it")
    vault = str(manifest["vault"])
    if owner.vault and vault != owner.vault:
        raise BundleDamaged("it is that of another vault")
    files = tuple(_files(archive, manifest["parts"]))
    return Bundle(replace(owner, vault=vault), int(manifest["epoch"]), files)


def _files(
    archive: zipfile.ZipFile, manifest: Mapping[str, Mapping[str, Any]]
) -> Iterator[BundledFile]:
    for path, values in manifest.items():
        raw = archive.read(f"state/{path}")
        if _digest(raw) != values["sha256"]:
            raise BundleDamaged(f"the part `{path}` is not what it was")
        row = row_of(path)
        # Fault: a path could lead out of the state folder.
        is_safe = ".." not in path.split("/") and not path.startswith("/")
        if is_safe and row is not None and row.treatment == "keep":
            yield BundledFile(path, values["sha256"], float(values["modified"]), raw)


def _kept_files(state: Path) -> Iterator[tuple[str, Path, StateFile]]:
    """Yield the files that the table keeps, sorted by path. Links are not followed."""
    for folder, folders, names in os.walk(state):
        inside = Path(folder).relative_to(state).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        # The index is large, and nothing in it is kept.
        folders[:] = sorted(name for name in folders if name != "index")
        for name in sorted(names):
            path = prefix + name
            row = row_of(path)
            if row is None or row.treatment != "keep":
                continue
            file = Path(folder, name)
            if not file.is_symlink():
                yield path, file, row


def _read(file: Path, row: StateFile) -> tuple[bytes, float]:
    """Return the bytes of a file, and its time where that has a meaning."""
    match row.form:
        case "sqlite":
            return copy_database(file), 0.0
        case "config":
            return without_secrets(file.read_bytes()), 0.0
        case "timed":
            return file.read_bytes(), file.stat().st_mtime
        case "bytes":
            return file.read_bytes(), 0.0


def _write(file: Path, stored: BundledFile) -> None:
    new_file = file.with_name(f".{file.name}.{os.urandom(6).hex()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(new_file, flags, 0o600), "wb") as stream:
        stream.write(stored.raw)
    if stored.modified:
        os.utime(new_file, (stored.modified, stored.modified))
    os.replace(new_file, file)


def _add(archive: zipfile.ZipFile, name: str, raw: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH_OF_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    archive.writestr(entry, raw)


def _sign(owner: BundleOwner, manifest: bytes) -> str:
    return hmac.new(owner.secret.encode(), manifest, hashlib.sha256).hexdigest()


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


# --- The configuration ---

HOST_TABLES = ("remote", "serve", "web", "talk", "fleet")
"""Tables with addresses, tokens and passwords"""
_HEADER = re.compile(r"\s*\[\[?\s*\"?([\w-]+)")


def without_secrets(raw: bytes) -> bytes:
    """Return the configuration without the tables of the host; comments of the others stay.

    Raises ConfigError where lines do not separate the tables.
    """
    text = raw.decode("utf-8")
    lines = []
    is_kept = True
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header is not None:
            is_kept = header[1] not in HOST_TABLES
        if is_kept:
            lines.append(line)
    shortened = "".join(lines)
    # Fault: a multi-line text or a dotted key can look like a table. A secret must not get into
    # the home, and no setting may be lost.
    if _parsed(shortened) != _without_tables(_parsed(text)):
        raise ConfigError(
            "the configuration of this vault mixes settings of the host with its own",
            hint="write [remote], [serve], [web] and [talk] as plain tables at its end",
        )
    return shortened.encode()


def _parsed(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the configuration of this vault is no TOML: {error}") from None


def _without_tables(tables: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in tables.items() if name not in HOST_TABLES}
