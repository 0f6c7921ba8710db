"""Detects file systems without events of other computers: network and user-space file systems."""

import os
import re
import sys
import time
from collections.abc import Callable

MOUNTS = "/proc/self/mountinfo"
_WITHOUT_EVENTS = re.compile(
    r"(?:nfs[0-9]*|cifs|smb[0-9]*|smbfs|afs|kafs|9p|ceph|glusterfs|lustre|gfs2?|ocfs2|davfs2?"
    r"|ncpfs|coda|virtiofs|vboxsf|prl_fs|vmhgfs|drvfs|fuse(?:\..*)?|fuseblk|orangefs|pvfs2|beegfs)"
).fullmatch
_OF_NETWORK = re.compile(
    r"(?:nfs[0-9]*|cifs|smb[0-9]*|smbfs|afs|kafs|9p|ceph|glusterfs|lustre|gfs2?|ocfs2|davfs2?"
    r"|ncpfs|coda|virtiofs|vboxsf|prl_fs|vmhgfs|orangefs|pvfs2|beegfs"
    r"|fuse\.(?:sshfs|rclone|s3fs|s3ql|glusterfs|ceph|goofys|juicefs|vmhgfs-fuse|davfs2?))"
).fullmatch
"""File systems that another computer may change at the same time"""
_ESCAPED = re.compile(r"\\([0-7]{3})")
_MOUNT_POINT = 4
"""Field of a line of mountinfo"""
_VALID_SECONDS = 10.0
"""How long `MountKinds` believes what it read"""


def watchable(path: str | os.PathLike[str], *, mounts: str = MOUNTS) -> str | None:
    """Returns why events may be missing below this path; None when the system reports all."""
    # A sandbox may hide the table of mounts. Sweeps notice it when events are missing.
    kind = _kind_of(path, mounts)
    if not _WITHOUT_EVENTS(kind):
        return None
    return f"it is on a file system ({kind}) that does not report all changes"


def network_file_system(path: str | os.PathLike[str], *, mounts: str = MOUNTS) -> str:
    """Returns the type of a file system that other computers share; "" for one of this computer.

    Returns "" where the system does not say, too.
    """
    kind = _kind_of(path, mounts)
    return kind if _OF_NETWORK(kind) else ""


def _kind_of(path: str | os.PathLike[str], mounts: str) -> str:
    if not sys.platform.startswith("linux"):
        return ""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            return file_system(os.path.realpath(path), lines.read())
    except OSError:
        return ""


def file_system(path: str, mountinfo: str) -> str:
    """Returns the type of a real path's file system, from the text of ``/proc/self/mountinfo``.

    Returns "" when the text does not say.
    """
    longest, kind = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) <= _MOUNT_POINT or not right:
            continue
        point = _ESCAPED.sub(_unescape, fields[_MOUNT_POINT])
        contains = path == point or path.startswith(point.rstrip("/") + "/")
        # Fault (C56): of two mounts on one point the later one covers the earlier.
        if contains and len(point) >= longest:
            longest, kind = len(point), right.split(" ")[0]
    return kind


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))


class MountKinds:
    """Answers `watchable` for many folders: reads the table of mounts once for a device."""

    def __init__(self, *, mounts: str = MOUNTS, now: Callable[[], float] = time.monotonic) -> None:
        self._mounts = mounts
        self._now = now
        self._until = float("-inf")
        self._obstacles: dict[int, str | None] = {}

    def watchable(self, path: str) -> str | None:
        """Returns why events may be missing below this path; None when the system reports all."""
        try:
            device = os.stat(path).st_dev
        except OSError:
            return None
        # A number may belong to another device after a disk was unmounted.
        if self._now() > self._until:
            self._obstacles = {}
            self._until = self._now() + _VALID_SECONDS
        # Fault: another thread may replace the table between two accesses.
        obstacles = self._obstacles
        if device not in obstacles:
            obstacles[device] = watchable(path, mounts=self._mounts)
        return obstacles[device]
