"""The requests to one bucket. Each raises a RemoteError for everything but success.

`key` is what the store calls a file, `path` what a person does.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from vault_memory.addons.s3.s3_client import S3Client
from vault_memory.addons.s3.s3_errors import error_of
from vault_memory.addons.s3.s3_listing import Page
from vault_memory.remote.contract import PutResult
from vault_memory.remote.http_transport import HttpAnswer
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    Refused,
    RemoteChanged,
    RemoteError,
    RemoteMissing,
    RootMissing,
    Unauthorised,
)
from vault_memory.remote.remote_listing import etag_of
from vault_memory.remote.remote_listing import seconds_of as seconds_of_date
from vault_memory.remote.status_errors import is_page as is_html

LONGEST_PAGE = 16 * 2**20
"""Bytes of one page of a listing: 1,000 keys of 1,024 bytes, percent-encoded"""
CHECKSUM = "sha256"
"""The metadata key of the checksum"""
_SMALL = 2**20
_BINARY = "application/octet-stream"


class Bucket:
    """One bucket. Any thread may call it."""

    def __init__(self, name: str, client: S3Client) -> None:
        self.name = name
        self.url = f"s3://{name}"
        self.clock = 0
        """the server's clock in its latest answer, in Unix seconds; 0 before the first one"""
        self._client = client

    def put(self, key: str, path: str, raw: bytes, expected: str | None) -> PutResult:
        """Store bytes, if the key has that tag, or with None does not exist."""
        condition: dict[str, Any] = {"IfMatch": expected}
        if expected is None:
            condition = {"IfNoneMatch": "*"}
        try:
            result, answer = self.ask(
                "put_object",
                path,
                writes=True,
                Key=key,
                Body=raw,
                ContentType=_BINARY,
                Metadata={CHECKSUM: hashlib.sha256(raw).hexdigest()},
                **condition,
            )
        except RemoteMissing:
            # Amazon and moto answer 404 to a condition on a missing key.
            raise RemoteChanged(path) from None
        etag, _ = etag_of(str(result.get("ETag", "")))
        if not etag or is_page(answer):
            # Fault (E87): a login page answers "200 OK" to an upload that the store
            # never saw.
            raise OutcomeUnknown(path, "a page came instead of an answer")
        return PutResult(etag, confirmed=True, date=self.clock)

    def delete(self, key: str, path: str, expected: str) -> None:
        """Remove a key, if it has that tag."""
        try:
            _, answer = self.ask("delete_object", path, writes=True, Key=key, IfMatch=expected)
        except RemoteMissing:
            raise RemoteChanged(path) from None
        if is_page(answer):
            raise OutcomeUnknown(path, "a page came instead of an answer")

    def versions(self, key: str, path: str, *kinds: str) -> Iterator[Mapping[str, Any]]:
        """What the bucket keeps of one key. `kinds`: Versions, DeleteMarkers."""
        place: dict[str, Any] = {}
        while True:
            result, _ = self.ask("list_object_versions", path, LONGEST_PAGE, Prefix=key, **place)
            for kind in kinds:
                items = result.get(kind, [])
                yield from (item for item in items if item.get("Key") == key)
            following = str(result.get("NextKeyMarker", ""))
            # Keys come in order, so no later page has this one.
            if not result.get("IsTruncated") or following != key:
                return
            place = {
                "KeyMarker": following,
                "VersionIdMarker": str(result.get("NextVersionIdMarker", "")),
            }

    def replaced_versions(self, prefix: str) -> Iterator[Mapping[str, Any]]:
        """What the bucket keeps below a prefix and no longer shows, page by page."""
        place: dict[str, Any] = {}
        while True:
            result, _ = self.ask("list_object_versions", "", LONGEST_PAGE, Prefix=prefix, **place)
            items = result.get("Versions", [])
            yield from [item for item in items if not item.get("IsLatest")]
            if not result.get("IsTruncated"):
                return
            place = {
                "KeyMarker": str(result.get("NextKeyMarker", "")),
                "VersionIdMarker": str(result.get("NextVersionIdMarker", "")),
            }

    def pages(self, folder: str, prefix: str, *, deep: bool) -> Iterator[Page]:
        """All pages of a listing. Raises NotUnderstood when it does not end."""
        parameters: dict[str, Any] = {"Prefix": prefix}
        if not deep:
            parameters["Delimiter"] = "/"
        tokens: set[str] = set()
        while True:
            page = self.page(folder, **parameters)
            yield page
            if not page["IsTruncated"]:
                return
            token = str(page.get("NextContinuationToken", ""))
            # Fault (E89): the end of the listing is missing, and its files would look
            # deleted. Or the same page comes again and again.
            if not token or token in tokens:
                raise NotUnderstood("the listing is not complete", path=folder)
            tokens.add(token)
            parameters["ContinuationToken"] = token

    def page(self, path: str, **parameters: Any) -> Page:
        """One page of a listing. Raises RootMissing for a bucket that cannot be listed."""
        try:
            page, _ = self.ask("list_objects_v2", path, LONGEST_PAGE, **parameters)
        except (Refused, RemoteMissing):
            # Fault (E86): withdrawn rights look like a vault whose files were all
            # deleted.
            raise RootMissing(self.url) from None
        # Fault (E87): another answer in XML has no keys, and would count as an empty
        # folder.
        if page.get("Name") != self.name or "IsTruncated" not in page:
            raise NotUnderstood("it is not a listing of this bucket", path=path)
        return page

    def ask(
        self,
        operation: str,
        path: str,
        cap: int = _SMALL,
        *,
        writes: bool = False,
        **parameters: Any,
    ) -> tuple[dict[str, Any], HttpAnswer]:
        """Make a request about a path. Raises a RemoteError for everything but success."""
        try:
            return self._ask_once(operation, path, cap, writes=writes, **parameters)
        except Unauthorised:
            # Fault: keys in the usual places are replaced now and then, some each hour.
            # The store did nothing for the old ones.
            if not self._client.drop_keys():
                raise
        return self._ask_once(operation, path, cap, writes=writes, **parameters)

    def _ask_once(
        self, operation: str, path: str, cap: int, *, writes: bool, **parameters: Any
    ) -> tuple[dict[str, Any], HttpAnswer]:
        try:
            result, answer = self._client.call(operation, cap, Bucket=self.name, **parameters)
        except RemoteError:
            raise
        except Exception as error:
            raise error_of(error, path, self.url, writes=writes) from None
        if answer is None:
            raise NotUnderstood("no request was sent", path=path)
        self.clock = seconds_of_date(answer.header("Date")) or self.clock
        return result, answer


def is_page(answer: HttpAnswer) -> bool:
    """Whether it is a page for people, and not an answer of S3 that has HTML for its type."""
    return is_html(answer) and bool(answer.body) and not _is_of_store(answer)


def _is_of_store(answer: HttpAnswer) -> bool:
    return any(name.lower().startswith("x-amz-") for name in answer.headers)
