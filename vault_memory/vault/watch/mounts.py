"""Where events of other computers cannot be heard: network and user-space file systems, told by the mount table."""

import os
import re
import sys

MOUNTS = "/proc/self/mountinfo"
_ELSEWHERE = re.compile(
    r"(?:nfs[0-9]*|cifs|smb[0-9]*|smbfs|afs|kafs|9p|ceph|glusterfs|lustre|gfs2?|ocfs2|davfs2?|ncpfs|coda"
    r"|virtiofs|vboxsf|prl_fs|vmhgfs|drvfs|fuse(?:\..*)?|fuseblk|orangefs|pvfs2|beegfs)"
).fullmatch
_ESCAPED = re.compile(r"\\([0-7]{3})")


def watchable(path: str | os.PathLike[str], *, mounts: str = MOUNTS) -> str | None:
    """None when the system tells of every change below this path, else why it may not."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            kind = file_system(os.path.realpath(path), lines.read())
    except OSError:
        return None
    return (
        f"it lies on a file system ({kind}) that does not tell of all changes"
        if _ELSEWHERE(kind)
        else None
    )


def file_system(path: str, mountinfo: str) -> str:
    """The type of the file system a real path lies on, from the text of ``/proc/self/mountinfo``; "" if not told."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
        holds = path == point or path.startswith(point.rstrip("/") + "/")
        if (
            holds and len(point) >= best
        ):  # of two mounts on one point the later one covers the earlier
            best, kind = len(point), right.split(" ")[0]
    return kind
