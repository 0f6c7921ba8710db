"""The address of a folder in a bucket: turns its paths into keys, and keys into paths.

S3 has keys and no folders. A folder is a key that ends with a slash, its marker, or the part before
a slash in another key.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes, urlsplit

from vault_memory.errors import BadPath, ConfigError
from vault_memory.remote.remote_errors import Refused
from vault_memory.rules.paths.filenames import inside

LONGEST_KEY = 1024
"""In bytes of UTF-8"""
_BUCKET = r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]"
_NOT_IN_XML = r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]"


@dataclass(frozen=True, slots=True)
class S3Address:
    """The parts of ``s3://bucket/prefix``."""

    bucket: str
    prefix: str
    """decoded, without a slash at its end; "" for the whole bucket"""

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{quote(self.prefix)}".rstrip("/")

    @property
    def root(self) -> str:
        """What all keys of the folder begin with."""
        return self.marker("")

    def key(self, path: str) -> str:
        """The key of a file. Raises Refused."""
        reason = self.refusal(path)
        if reason:
            raise Refused(path, reason, lasting=True)
        return f"{self.prefix}/{path}" if self.prefix else path

    def marker(self, path: str) -> str:
        """The key of a folder, which ends with a slash; "" for the bucket itself. Raises Refused."""
        if path:
            return f"{self.key(path)}/"
        return f"{self.prefix}/" if self.prefix else ""

    def refusal(self, path: str) -> str | None:
        """Why no file can have this path, or None."""
        try:
            inside(path)
        except BadPath as error:
            return error.reason
        # Fault: a listing in XML cannot name such a key, and the store answers with an
        # error for the whole folder.
        if re.search(_NOT_IN_XML, path):
            return "it contains control characters"
        # The marker of a folder is a byte longer.
        length = len(f"{self.prefix}/{path}/".encode())
        if length > LONGEST_KEY:
            return f"its name is longer than {LONGEST_KEY} bytes"
        return None


def s3_address(url: str) -> S3Address:
    """Parse ``s3://bucket/prefix``. Raises ConfigError."""
    split = urlsplit(url)
    is_bucket = re.fullmatch(_BUCKET, split.netloc) is not None
    if split.scheme != "s3" or not is_bucket or split.query or split.fragment:
        raise ConfigError(
            "`remote.url` is not the address of a folder in a bucket",
            hint="write it as `s3://bucket/folder`",
        )
    try:
        prefix = unquote_to_bytes(split.path.strip("/")).decode()
        address = S3Address(split.netloc, prefix)
        reason = S3Address(split.netloc, "").refusal(prefix) if prefix else None
    except UnicodeDecodeError:
        reason = "it is not text"
    if reason:
        raise ConfigError(
            f"the folder in `remote.url` cannot be used: {reason}",
            hint="write it as `s3://bucket/folder`",
        )
    return address
