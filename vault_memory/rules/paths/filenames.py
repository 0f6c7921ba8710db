"""Rules for file names: which are ignored, which lead out of the vault, which are not portable.

Editors and sync programs write temporary files, locks, backups and conflict copies beside notes.
The program never reads them as memory. It shows conflict copies to the person, who decides.
"""

import re
import unicodedata
from collections.abc import Iterable

from vault_memory.errors import BadPath
from vault_memory.markdown.letters import without_case
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.skeleton import is_invisible

MARKDOWN = (".md", ".markdown", ".MD", ".Md", ".mD", ".Markdown", ".MARKDOWN")
"""Endings of Markdown files"""
CANVAS = ".canvas"
"""Ending of the boards of Obsidian, in JSON"""

_PLAIN = re.compile(r"\w[\w -]*\.(?:md|markdown|jsonl|canvas)").fullmatch

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


INBOX = "INBOX.md"
LOG = ".jsonl"
"""Ending of transcripts, of the audit and of the ledgers of the nights"""


def is_private(name: str) -> bool:
    """Returns whether only the owner may read a file, under each umask and from its first byte on.

    These are the files in which a person speaks, or is spoken about, without having saved them.
    """
    return name.endswith((LOG, f".{INBOX}")) or name == INBOX


def ignored(name: str) -> bool:
    """Returns whether a name is a temporary file of another program, or a conflict copy."""
    if _PLAIN(name) and "onflict" not in name:
        return False
    return re.fullmatch(_JUNK, name) is not None or conflict_copy(name) is not None


_ORDINARY = re.compile(r"\w[\w .-]*(?:/\w[\w .-]*)*").fullmatch
# Seldom needed, so compiled on first use: compiling them at each start would cost time.
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
    """Returns a name from outside as a path inside a vault. Raises BadPath.

    With ``encoded`` the name is percent-decoded once, as an ``href`` needs. ``base`` is the prefix
    before the path in the vault, with scheme and host if the names have them; it ends at a ``/``.
    """
    if encoded:
        path = _decoded(path)
        base = _decoded(base)
    if base:
        path = _without(path, base)
    if _ORDINARY(path):
        return path
    if re.match(_ABSOLUTE, path):
        raise BadPath(path, "it is absolute")
    for segment in path.split("/"):
        reason = _misleading(segment)
        if reason:
            raise BadPath(path, reason)
    return path


def _decoded(path: str) -> str:
    once = unquoted(path)
    twice = unquoted(once)
    # Fault (H119): a second decoding elsewhere would turn `%252e` into a dot.
    if any(once.count(mark) != twice.count(mark) for mark in "/.\\\0"):
        raise BadPath(path, "it is encoded twice")
    return once


def unquoted(path: str) -> str:
    """Returns the name with its percent signs decoded once."""
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
    """Returns why a segment could lead elsewhere, or None."""
    if not segment:
        return "a part of it is empty"
    if segment in (".", ".."):
        return f"it contains {segment!r}"
    return unreadable(segment)


def unreadable(name: str) -> str | None:
    """Returns why a name in a folder is not read at all, or None."""
    # Fault (H119): it is a letter here, and a separator on Windows. A synced name must
    # not lead into another folder there.
    if "\\" in name:
        return "there is a backslash in its name"
    if re.search(_SURROGATE, name):
        return "its name is not valid UTF-8"
    if re.search(_CONTROL, name):
        return "there is a control character in its name"
    return None


def awkward(name: str) -> str | None:
    """Returns why a name is not portable or is misleading; None when it is fine."""
    if not name or name in (".", ".."):
        return "it is no name for a file"
    reason = unreadable(name)
    if reason:
        return reason
    mark = re.search(_FORBIDDEN, name)
    if mark:
        return f"{mark.group()!r} cannot be in a name on Windows"
    if name[-1] in ". ":
        return "a name cannot end with a dot or a blank on Windows"
    if re.match(_RESERVED, name):
        return "the name is reserved on Windows"
    if len(name.encode()) > LONGEST_NAME:
        return f"the name is longer than {LONGEST_NAME} bytes"
    # Fault (F109): with such a mark, a name can look like that of another file.
    if re.search(_BIDI, name):
        return "a mark in the name changes the direction of writing"
    return None


def person_key(name: str) -> str:
    """Returns a key of a person's name without case, Unicode form, blanks and invisible letters."""
    if name.isascii() and name.isprintable():
        return name.replace(" ", "").lower()
    # Fault (H124): two names that look the same must be one person. Letters of full
    # width and invisible letters look like plain ones.
    composed = unicodedata.normalize("NFKC", name)
    folded = unicodedata.normalize("NFKC", composed.casefold())
    return "".join(filter(_is_visible, folded))


def _is_visible(letter: str) -> bool:
    if letter.isspace():
        return False
    return not is_invisible(letter) or unicodedata.combining(letter) > 0


def clashes(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """Returns groups of files or folders whose names differ only in case or Unicode form."""
    siblings: dict[tuple[str, str], set[str]] = {}
    seen: set[str] = set()
    for path in paths:
        while path and path not in seen:
            seen.add(path)
            parent, _, name = path.rpartition("/")
            siblings.setdefault((parent, without_case(name)), set()).add(path)
            path = parent
    return sorted(tuple(sorted(group)) for group in siblings.values() if len(group) > 1)
