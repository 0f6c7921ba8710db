"""Checks the address of a remote."""

from urllib.parse import urlsplit

from vault_memory.addons import table
from vault_memory.config.s3_settings import is_s3, s3_problems
from vault_memory.config.sections import LOOPBACK_HOSTS, REMOTE_SCHEMES, RemoteSettings


def problems_of(remote: RemoteSettings) -> list[str]:
    """Return the problems of the URL, without repeating it: it may contain a password."""
    if is_s3(remote.url):
        return s3_problems(remote)
    if remote.endpoint or remote.region or remote.credentials_file:
        return ["`endpoint`, `region` and `credentials_file` are only for `s3://`; remove them"]
    try:
        url = urlsplit(remote.url)
        host = url.hostname or ""
    except ValueError:
        return ["it is not a URL"]
    # Fault (H126): a message with the URL would show the password. The reason names no
    # part of it.
    if "@" in url.netloc:
        return [
            "it contains a user or password; put them into `remote.user` and `remote.password_file`"
        ]
    if table.homes_of(remote.url):
        # An add-on knows the addresses of its scheme, and says so when it opens one.
        return []
    is_web_url = url.scheme in REMOTE_SCHEMES and host
    if not is_web_url or url.query or url.fragment:
        return [
            "it is not the URL of a WebDAV folder, which begins with https://, nor of a bucket, which "
            "begins with s3://"
        ]
    if not _is_safe(url.scheme, host, remote):
        return [
            "http:// would send the password to another machine unencrypted; use https://, or set "
            "`allow_http = true` if the network itself is private"
        ]
    return []


def _is_safe(scheme: str, host: str, remote: RemoteSettings) -> bool:
    """Whether a password may be sent to this host."""
    is_encrypted = REMOTE_SCHEMES[scheme]
    # Fault: on an unencrypted connection, each machine on the way reads the password.
    return is_encrypted or host in LOOPBACK_HOSTS or remote.allow_http
