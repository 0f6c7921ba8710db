"""A folder in a bucket. Every write is conditional on what was read before.

S3 has no folders: a file needs none above it, and a folder that is made is an empty key with a slash at
its end. There is no rename either: `move` makes the new key and then deletes the old one. Interrupted
between the two, both exist and nothing is lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from vault_memory.addons.s3.s3_address import S3Address, s3_address
from vault_memory.addons.s3.s3_bucket import CHECKSUM, Bucket, is_page
from vault_memory.addons.s3.s3_client import S3Client, S3Place
from vault_memory.addons.s3.s3_listing import file_entry, folder_entry, s3_listing, seconds_of
from vault_memory.addons.s3.s3_probe import s3_probe, tidy
from vault_memory.remote.contract import (
    Capabilities,
    Entry,
    Fetched,
    FileVersion,
    KeyCapabilities,
    PutResult,
    RemoteListing,
    ServerIdentity,
)
from vault_memory.remote.http_transport import Account
from vault_memory.remote.remote_errors import (
    NO_TRASH,
    OWN_FOLDER,
    FolderNotEmpty,
    NotUnderstood,
    Refused,
    RemoteChanged,
    RemoteMissing,
    RootMissing,
)
from vault_memory.remote.remote_listing import etag_of

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

DEADLINE = 300.0
"""Seconds for one complete exchange"""
LARGEST_MOVED = 2**30
"""Bytes of a file that `move` can copy"""
_FEW = 100


class S3:
    """A remote in a bucket. Any thread may call it; each has its own connection.

    `account`: its password has the AWS keys, in the form of `config.aws_keys`; empty: boto3 looks for
    them. `deadline`: seconds for one complete exchange. `adapter`: sends the requests of all threads.
    """

    kind = "S3"

    def __init__(
        self,
        url: str,
        account: Account | None = None,
        place: S3Place | None = None,
        *,
        deadline: float = DEADLINE,
        adapter: "BaseAdapter | None" = None,
    ) -> None:
        self.at: S3Address = s3_address(url)
        self.place = place or S3Place()
        self.traits: Capabilities = KeyCapabilities(conditional_move=True, infinity=True)
        self._client = S3Client(
            self.place, account or Account(), deadline=deadline, adapter=adapter
        )
        self._bucket = Bucket(self.at.bucket, self._client)
        self.traffic = self._client.traffic

    @property
    def clock(self) -> int:
        """The server's clock in its latest answer, in Unix seconds; 0 before the first one."""
        return self._bucket.clock

    # --- Reading ---

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        """The store and the folder. S3 has no ids, and keys may be replaced by new ones."""
        if root is None:
            self.look("")
        server = f"{self.at.url} {self.place.endpoint}".rstrip(" /")
        return ServerIdentity(server, "", "", "")

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        """List a folder, or with `deep` the whole tree, with one request for 1,000 keys."""
        pages = self._bucket.pages(folder, self.at.marker(folder), deep=deep)
        listed = s3_listing(pages, self.at, folder, deep=deep)
        if listed is not None:
            return listed
        if folder:
            raise RemoteMissing(folder)
        self._need_root()
        return RemoteListing(folder_entry(""), ())

    def look(self, path: str) -> Entry:
        """The entry of one path. Only this one has the checksum: a listing of S3 has no metadata."""
        if path:
            with suppress(RemoteMissing):
                return self._look_file(path)
        page = self._bucket.page(path, Prefix=self.at.marker(path), MaxKeys=1)
        if not page.get("Contents"):
            if path:
                raise RemoteMissing(path)
            self._need_root()
        return folder_entry(path)

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        """A file's bytes, with the tag that belongs to them."""
        result, answer = self._bucket.ask("get_object", path, max_bytes, Key=self.at.key(path))
        raw: bytes = answer.body
        etag, weak = etag_of(str(result.get("ETag", "")))
        if not etag or is_page(answer) or not answer.has_length:
            # Fault (E87): a login page comes instead of a note.
            raise NotUnderstood("the answer has no ETag or length", path=path)
        # Without the checksum: sync would miss it in the next listing, which has none.
        return Fetched(raw, etag, not weak, seconds_of(result.get("LastModified")))

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """The versions that the bucket keeps, the newest first; empty in a bucket without versions."""
        if not self.traits.versions:
            return ()
        versions = [
            FileVersion(
                str(item["VersionId"]),
                seconds_of(item.get("LastModified")),
                int(item.get("Size", 0)),
            )
            for item in self._bucket.versions(self.at.key(path), path, "Versions")
        ]
        # The store lists the newest first; the sort keeps that order within a second.
        versions.sort(key=lambda version: version.modified, reverse=True)
        return tuple(versions)

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """The bytes of a version. Raises RemoteMissing, Refused."""
        try:
            _, answer = self._bucket.ask(
                "get_object", path, max_bytes, Key=self.at.key(path), VersionId=version.id
            )
        except Refused as error:
            # Fault: the account may not read it, or it lies in an archive. A text in it
            # would count as gone.
            if not error.lasting:
                raise
            # SeaweedFS and Amazon call an id that they never gave invalid.
            raise RemoteMissing(path) from None
        return answer.body

    # --- Writing ---

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        """Store a new file (None), or replace the one with that tag."""
        return self._bucket.put(self.at.key(path), path, raw, expected)

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        """Raise Refused: S3 has no such request."""
        raise Refused("", "it does not take many files in one request")

    def delete(self, path: str, *, expected: str) -> None:
        """Remove a file with that tag."""
        self._bucket.delete(self.at.key(path), path, expected)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename a file with that tag, or a folder, to a free name."""
        if expected is None:
            return self._move_folder(path, to)
        fetched = self.get(path, max_bytes=LARGEST_MOVED)
        if fetched.etag != expected:
            raise RemoteChanged(path)
        stored = self.put(to, fetched.raw, expected=None)
        try:
            self.delete(path, expected=expected)
        except RemoteChanged:
            # Fault: another device edited the file since it was read. Its edit stays
            # under the old name, and the copy goes.
            self.delete(to, expected=stored.etag)
            raise
        return stored

    def mkcol(self, path: str) -> PutResult:
        """Make a folder: an empty key with a slash at its end."""
        try:
            self._look_file(path)
        except RemoteMissing:
            self._bucket.put(self.at.marker(path), path, b"", None)
            return PutResult(confirmed=True)
        raise RemoteChanged(path)

    def rmcol(self, path: str) -> None:
        """Remove the marker of a folder that has no files."""
        if not path:
            raise Refused(path, OWN_FOLDER)
        marker = self.at.marker(path)
        # Two keys suffice: the marker, and a file.
        page = self._bucket.page(path, Prefix=marker, MaxKeys=2)
        items = page.get("Contents", [])
        if not items:
            raise RemoteMissing(path)
        if any(item["Key"] != marker for item in items):
            raise FolderNotEmpty(path)
        etag, _ = etag_of(str(items[0].get("ETag", "")))
        self._bucket.delete(marker, path, etag)

    def rmtree(self, path: str) -> None:
        """Raise Refused: a store has no trash for folders."""
        raise Refused(path, NO_TRASH)

    def earlier_versions(self) -> Iterator[tuple[str, FileVersion]]:
        """Yield each replaced or deleted version of all files, with its path."""
        root = self.at.root
        for item in self._bucket.replaced_versions(root):
            version = FileVersion(
                str(item["VersionId"]),
                seconds_of(item.get("LastModified")),
                int(item.get("Size", 0)),
            )
            yield str(item["Key"]).removeprefix(root), version

    def erase_version(self, path: str, version: FileVersion) -> None:
        """Delete one version for good."""
        self._bucket.ask(
            "delete_object", path, writes=True, Key=self.at.key(path), VersionId=version.id
        )

    def erase_versions(self, path: str) -> int:
        """Remove a file with all its versions, on no condition. Returns how many there were."""
        key = self.at.key(path)
        erased = 0
        versions = self._bucket.versions(key, path, "Versions", "DeleteMarkers")
        for item in list(versions):
            self._bucket.ask(
                "delete_object", path, writes=True, Key=key, VersionId=str(item["VersionId"])
            )
            erased += 1
        return erased

    # --- The store ---

    def refuses(self, path: str) -> str | None:
        """Why no key can have this name."""
        return self.at.refusal(path)

    def probe(self) -> Capabilities:
        """Find out what the store can do. Raises PreconditionsIgnored."""
        self.traits = s3_probe(self)
        return self.traits

    def tidy(self) -> None:
        """Remove the scratch keys of interrupted probes; what cannot be removed stays."""
        tidy(self)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._client.close()

    # --- Steps of the probe ---

    def first_keys(self) -> dict[str, int]:
        """Some keys of the folder with their sizes. Raises RootMissing."""
        page = self._bucket.page("", Prefix=self.at.root, MaxKeys=_FEW)
        items = page.get("Contents", [])
        if not items:
            self._need_root()
        return {str(item["Key"]): int(item.get("Size", 0)) for item in items}

    def read_if(self, key: str, etag: str) -> None:
        """Read the first byte of a key, if it has that tag. Raises RemoteChanged."""
        # Not HEAD: its refusals have no reason.
        self._bucket.ask("get_object", "", Key=key, IfMatch=etag, Range="bytes=0-0")

    def keep_root(self) -> None:
        """Give the remote's own folder a marker, so that it exists without files."""
        if self.at.root and self.at.root not in self.first_keys():
            # On no condition: the marker has no content. SeaweedFS calls a folder
            # without a marker existing.
            self._bucket.ask("put_object", "", writes=True, Key=self.at.root, Body=b"")

    def keeps_versions(self) -> bool:
        """Whether the bucket keeps versions; False when these keys may not ask."""
        try:
            result, _ = self._bucket.ask("get_bucket_versioning", "")
        except Refused:
            return False
        return result.get("Status") == "Enabled"

    # --- Steps ---

    def _need_root(self) -> None:
        """Raise RootMissing for a folder without any key. A bucket without keys exists."""
        # Fault (E86): a wrong or emptied prefix looks like a vault whose files were all
        # deleted.
        if self.at.prefix:
            raise RootMissing(self.at.url)

    def _look_file(self, path: str) -> Entry:
        key = self.at.key(path)
        try:
            result, _ = self._bucket.ask("head_object", path, Key=key)
        except Refused:
            # An answer to HEAD has no reason. The listing fails with one.
            self._bucket.page(path, Prefix=key, MaxKeys=1)
            raise
        item = {
            "ETag": result.get("ETag", ""),
            "Size": result.get("ContentLength", 0),
            "LastModified": result.get("LastModified"),
        }
        entry = file_entry(path, item)
        if entry is None:
            raise NotUnderstood("the answer has no ETag", path=path)
        checksum = str(result.get("Metadata", {}).get(CHECKSUM, ""))
        return Entry(
            path,
            False,
            entry.etag,
            entry.size,
            entry.modified,
            checksum=checksum,
            confirmed=entry.confirmed,
        )

    def _move_folder(self, path: str, to: str) -> PutResult:
        """Move the files of a folder one after another. Interrupted, both folders exist."""
        if to == path or to.startswith(f"{path}/"):
            raise Refused(path, "it cannot be moved into itself")
        listed = self.list(path, deep=True)
        if listed.unknown:
            raise Refused(path, "it contains names that are not understood")
        try:
            self.look(to)
        except RemoteMissing:
            stored = self.mkcol(to)
        else:
            raise RemoteChanged(to)
        folders = [entry for entry in listed.entries if entry.is_folder]
        for entry in folders:
            self.mkcol(to + entry.path[len(path) :])
        for entry in listed.entries:
            if not entry.is_folder:
                target = to + entry.path[len(path) :]
                self.move(entry.path, target, expected=entry.etag)
        for entry in (*reversed(folders), listed.folder):
            self._remove_marker(entry.path)
        return stored

    def _remove_marker(self, path: str) -> None:
        """Remove the marker of a folder that was moved, if it has one."""
        # A folder without a marker went with its last file.
        with suppress(RemoteMissing):
            self.rmcol(path)
