"""Names of files: which are not memory, which lead out, which cannot travel.

Editors and sync programs put temporaries, locks, backups and conflict copies beside the notes they save. None of
them is ever read as memory; conflict copies are shown to the person, who decides.
"""

import re
import unicodedata
from collections.abc import Iterable

from vault_memory.errors import BadPath
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.skeleton import is_invisible

_PLAIN = re.compile(r"\w[\w -]*\.(?:md|jsonl)").fullmatch

_JUNK = r"""(?xis)
      \..*                                  # hidden: swap files, locks, temporaries, placeholders, our own marker
    | .*~                                   # backups
    | .*\.~.*                               # Nextcloud's and our own temporaries
    | ~\$.*                                 # Office locks
    | ~syncthing~.*
    | \#.*\#                                # Emacs auto-save
    | 4913                                  # vim's probe
    | sed[A-Za-z0-9]{6}
    | lu[0-9a-z]+\.tmp                      # LibreOffice
    | .*___jb_(?:tmp|old)___
    | .*\.(?:tmp|temp|part|partial|filepart|crdownload|swp|swo|swx|bak|orig|rej|lock|icloud|kate-swp|vsctmp)
    | .*\.unison.*
    | .*\.(?:md|jsonl)\.(?:\#.*|[A-Za-z]{6})            # QSaveFile
    | (?:desktop\.ini|thumbs\.db)
    """


def ignored(name: str) -> bool:
    """Whether a file or folder of this name is never read as memory: junk of other programs, or a conflict copy."""
    if _PLAIN(name) and "onflict" not in name:
        return False
    return re.fullmatch(_JUNK, name) is not None or conflict_copy(name) is not None


_ORDINARY = re.compile(r"\w[\w .-]*(?:/\w[\w .-]*)*").fullmatch
# Seldom needed, so compiled on first use: each process that searches would pay for them at its start.
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_BIDI = r"[\u202a-\u202e\u2066-\u2069]"
_SURROGATE = r"[\ud800-\udfff]"
_ABSOLUTE = r"/|[A-Za-z]:(?:$|[/\\])|[A-Za-z][A-Za-z0-9+.-]*://"
_PERCENT = rb"%([0-9A-Fa-f]{2})"
_RESERVED = r"(?i)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)"
_FORBIDDEN = r'[<>:"|?*\\/]'

LONGEST_NAME = 255
"""In bytes of UTF-8."""


def inside(path: str, *, base: str = "", encoded: bool = False) -> str:
    """Turn an outside name into a path inside a vault, or raise BadPath.

    With ``encoded`` the name is percent-decoded once, as an ``href`` needs; ``base`` is what stands before the
    vault's own part, scheme and host included if the names carry them, and is only taken off at a ``/``.
    """
    if encoded:
        path, base = _decoded(path), _decoded(base)
    if base:
        path = _without(path, base)
    if _ORDINARY(path):
        return path
    if re.match(_ABSOLUTE, path):
        raise BadPath(path, "it is absolute")
    for segment in path.split("/"):
        if reason := _misleading(segment):
            raise BadPath(path, reason)
    return path


def _decoded(path: str) -> str:
    once = unquoted(path)
    twice = unquoted(once)
    if any(once.count(mark) != twice.count(mark) for mark in "/.\\\0"):
        raise BadPath(path, "it is encoded twice")
    return once


def unquoted(path: str) -> str:
    """The name with its percent signs decoded, once."""
    raw = re.sub(
        _PERCENT,
        lambda match: bytes.fromhex(match[1].decode()),
        path.encode(errors="surrogatepass"),
    )
    return raw.decode(errors="surrogateescape")


def _without(path: str, base: str) -> str:
    base = base.rstrip("/") + "/"
    if not path.startswith(base):
        raise BadPath(path, f"it does not begin with {base!r}")
    return path[len(base) :]


def _misleading(segment: str) -> str | None:
    """Why a segment could lead elsewhere than it says."""
    if not segment:
        return "a part of it is empty"
    if segment in (".", ".."):
        return f"it contains {segment!r}"
    return unreadable(segment)


def unreadable(name: str) -> str | None:
    """Why a name that stands in a folder is not taken in at all."""
    if "\\" in name:
        return "there is a backslash in its name"
    if re.search(_SURROGATE, name):
        return "its name is not valid UTF-8"
    if re.search(_CONTROL, name):
        return "there is a control character in its name"
    return None


def awkward(name: str) -> str | None:
    """Why a name cannot travel to every file system, or should be looked at twice; None when it is fine."""
    if not name or name in (".", ".."):
        return "it is no name for a file"
    if reason := unreadable(name):
        return reason
    if mark := re.search(_FORBIDDEN, name):
        return f"{mark.group()!r} cannot be in a name on Windows"
    if name[-1] in ". ":
        return "a name cannot end with a dot or a blank on Windows"
    if re.match(_RESERVED, name):
        return "the name is reserved on Windows"
    if len(name.encode()) > LONGEST_NAME:
        return f"the name is longer than {LONGEST_NAME} bytes"
    return (
        "a mark in the name changes the direction of writing"
        if re.search(_BIDI, name)
        else None
    )


def clash_key(name: str) -> str:
    """Equal for names that a file system which folds case or Unicode forms cannot hold side by side."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def person_key(name: str) -> str:
    """Equal for names of people that differ only in case, Unicode form, blanks or invisible letters."""
    if name.isascii() and name.isprintable():
        return name.replace(" ", "").lower()
    folded = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", name).casefold()
    )
    return "".join(
        one
        for one in folded
        if not one.isspace() and (not is_invisible(one) or unicodedata.combining(one))
    )


def clashes(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """Files or folders of one folder whose names differ only in case or Unicode form, each group sorted."""
    siblings: dict[tuple[str, str], set[str]] = {}
    seen: set[str] = set()
    for path in paths:
        while path and path not in seen:
            seen.add(path)
            parent, _, name = path.rpartition("/")
            siblings.setdefault((parent, clash_key(name)), set()).add(path)
            path = parent
    return sorted(tuple(sorted(group)) for group in siblings.values() if len(group) > 1)
