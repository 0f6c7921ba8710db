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
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from vault_memory import places
from vault_memory.addons.fleet.fleet_errors import AnotherFleet, BundleDamaged, BundleNewer
from vault_memory.config.durable import sync_folder
from vault_memory.database.connection import connect
from vault_memory.errors import ConfigError

FORMAT = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.signature"
LARGEST = 256 << 20
"""Bytes of a bundle, packed and unpacked"""
_EPOCH_OF_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of each entry of the zip file: equal parts must make equal bytes"""
_SCHEMA_COOKIE = slice(40, 44)
"""Bytes of the file's header: a number that each copy of a copy counts up"""
Treatment = Literal["keep", "derive", "never"]
"""keep: part of the bundle; derive: made again from the vault, the home or the ledger; never: of
this machine or secret"""
Form = Literal["bytes", "timed", "sqlite", "config"]
"""How a file is read: as it is, together with its time, as a consistent copy of a database, or
without its secrets"""


# --- State files ---

# The files of a vault's state folder, and which of them must survive the machine.
#
# A test compares the table with the files that the tests of the program leave behind. A file
# that no row names fails it, so that a decision about a new file is never forgotten.


class StateFile(NamedTuple):
    """A row of the table."""

    pattern: str
    """Path relative to the state folder; ``*`` is any text in one name, ``**`` any path"""
    treatment: Treatment
    reason: str
    form: Form = "bytes"


TABLE = (
    # Names that may occur anywhere come first: the first row that fits decides.
    StateFile("**.lock", "never", "locks out other processes of this machine"),
    StateFile("**.new", "never", "half of a file that is being replaced"),
    StateFile(".copy-*/**", "never", "a copy of a database that is being packed"),
    StateFile("**-wal", "never", "belongs to its database, which is copied as a whole"),
    StateFile("**-shm", "never", "belongs to its database, which is copied as a whole"),
    StateFile("**-journal", "never", "belongs to its database, which is copied"),
    StateFile(
        "**.damaged-*",
        "never",
        "was set aside on this machine; its readable rows are in the new file",
    ),
    # What people and the bot did, and what is not in the notes.
    StateFile(
        "journal.sqlite",
        "keep",
        "pending writes, versions of notes, trash, last audit records",
        "sqlite",
    ),
    StateFile("sessions/*/*", "keep", "open and ended conversations", "timed"),
    StateFile("nights/**", "keep", "what was read, open nights, reports"),
    StateFile("drop/**", "keep", "turns that are not recorded yet, and rejected lines"),
    StateFile("reads.jsonl", "keep", "which items were found: they fade more slowly"),
    StateFile("usage.jsonl", "keep", "tokens that were spent: the budget of the month"),
    StateFile("web-seen.json", "keep", "what a person has seen on the page"),
    StateFile("talk.json", "keep", "messages of rooms that are recorded already"),
    StateFile("devices", "keep", "other devices that write to the vault"),
    # How the vault is set up.
    StateFile(
        "vault-memory.toml",
        "keep",
        "the configuration, without remotes and tokens: the host has them",
        "config",
    ),
    StateFile("vault-memory.toml*", "never", "a backup or a trial of an edit"),
    StateFile("layout.json", "keep", "the layout that the program chose"),
    StateFile("phrases/**", "keep", "phrases of the person for what to remember"),
    StateFile("prompts/**", "never", "prompts are the operator's: the host has them"),
    # What the program makes again.
    StateFile("index/**", "derive", "from the notes"),
    StateFile("documents/**", "derive", "from the PDFs, images and office files"),
    StateFile("reading/**", "derive", "notes that are being parsed on this machine"),
    StateFile("as-of-*/**", "derive", "an index of a past day"),
    StateFile("as-of-*", "derive", "an index of a past day"),
    StateFile("brain.json", "derive", "a test of the model that the host uses"),
    StateFile("place.json", "derive", "the path of the folder on this machine"),
    StateFile("had-files", "derive", "whether the folder on this machine had files"),
    StateFile("unmarked", "derive", "whether the folder on this machine has a marker"),
    # Fault: two holders with two names would write two logs, and replay a turn under
    # another name. So the name is made from the vault's id.
    StateFile("device", "derive", "from the id of the vault"),
    # Fault: it says which bytes the folder beside it and the home had in common. Beside
    # other files, each older file would look like a new edit.
    StateFile("sync.sqlite", "derive", "by the first pass; describes one scratch"),
    StateFile("sync.json", "derive", "by the next pass"),
    StateFile("sync.json.*", "never", "half of a file that is being replaced"),
    # What belongs to this machine.
    StateFile("daemon.sock", "never", "the socket of a process"),
    StateFile("daemon.pid", "never", "the id of a process"),
    StateFile("*.log", "never", "a log of this machine"),
    StateFile("*.log.*", "never", "a log of this machine"),
    StateFile("starts", "never", "when programs of this machine last started"),
    StateFile("starts/**", "never", "when programs of this machine last started"),
    StateFile("projects.json", "never", "folders of this machine"),
    StateFile("hosts.json", "never", "programs of this machine that were set up"),
    StateFile("adopted/**", "never", "memory of programs of this machine"),
    StateFile("drafts/**", "never", "texts open in an editor of this machine"),
    StateFile("remote-password", "never", "a secret"),
    StateFile("web.json", "never", "where the page runs"),
    StateFile("web-open.html", "never", "opens the page that runs"),
    StateFile("web-sessions.json", "never", "secrets of browsers"),
    StateFile("web-passphrases.json", "never", "secrets of people"),
    StateFile("connector.json", "never", "secrets of programs elsewhere"),
    StateFile("answered.json", "never", "which events of programs were answered just now"),
    StateFile("sessions/.judging", "never", "a lock"),
)


def row_of(path: str) -> StateFile | None:
    """The row that decides about a path relative to the state folder; None: no row does."""
    return next((row for row in TABLE if _regex(row.pattern).fullmatch(path)), None)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    wild = {"**": ".*", "*": "[^/]*"}
    tokens = re.split(r"(\*\*|\*)", pattern)
    return re.compile("(?s)" + "".join(wild.get(t) or re.escape(t) for t in tokens))


# --- Bundle ---


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
                signature.append((path, stat.st_size, stat.st_mtime_ns, stat.st_ino))
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


# --- Database copy ---

# Copies a SQLite database that may be open: the copy has one moment of it, and no free pages.


def copy_database(file: Path) -> bytes:
    """Return the bytes of a compact copy. Raises FileNotFoundError, DatabaseError."""
    if not file.exists():
        raise FileNotFoundError(file)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".copy-") as folder:
        target = Path(folder, "copy.sqlite")
        connection = connect(file, create=False)
        try:
            # Fault: rows that were deleted stay in free pages, and a forgotten text with them.
            connection.execute("VACUUM INTO ?", (str(target),))
        finally:
            connection.close()
        raw = bytearray(target.read_bytes())
    # Equal rows must make equal bytes, so that an unchanged bundle is not stored again.
    raw[_SCHEMA_COOKIE] = (1).to_bytes(4)
    return bytes(raw)
