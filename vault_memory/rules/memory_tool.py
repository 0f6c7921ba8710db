"""The memory tool: names below `/memories`, and answers in the words of its reference.

A note is Markdown, so that people and search can read it: `/memories/todo.txt` is stored as
`todo.txt.md`, and the model sees it under its own name. No other file has such a name.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from vault_memory.errors import BadPath
from vault_memory.rules.context.quoting import with_flags
from vault_memory.rules.paths.filenames import awkward, inside, unquoted

ROOT = "/memories"
ENDING = ".md"
LONGEST = 200
"""Bytes of a segment of a new name; its audit and its conflict copies have longer names"""
LONGEST_PATH = 2_000
"""Letters of a complete name"""
DEEPEST = 16
_ROUNDS = 6
_TEXTS = frozenset(
    "cfg conf csv htm html ini js json log markdown org py rst sh sql tex text toml ts tsv txt xml yaml yml".split()
)
"""Extensions of text files; a note with one is shown without `.md`"""
_LIKE_A_SLASH = re.compile(
    "[\u2044\u2215\u29f8\u2571\u29f9\u27cb\u27cd\u2572\ufe68\u29f5\u3033\u3035]"
)


def relative(path: str) -> str:
    """Returns the path below `/memories`; ``""`` for the folder itself.

    Raises BadPath for a path that leads elsewhere, or that another program could read so.
    """
    if path in (ROOT, ROOT + "/"):
        return ""
    if not path.startswith(ROOT + "/"):
        raise BadPath(path, "it does not begin with /memories/")
    name = path[len(ROOT) + 1 :].removesuffix("/")
    if len(name) > LONGEST_PATH:
        raise BadPath(path[:LONGEST] + "…", "it is too long")
    _check_spellings(path, name)
    if _LIKE_A_SLASH.search(name):
        raise BadPath(path, "a mark in it looks like a slash")
    return name


def _check_spellings(path: str, name: str) -> None:
    """Checks a name, and the names that other programs may read: decoded, or in plain letters."""
    checked: set[str] = set()
    spellings = {name}
    # Percent signs can be encoded again, so each spelling may have further ones.
    for _ in range(_ROUNDS):
        for spelling in spellings:
            _check_spelling(path, name, spelling)
        checked |= spellings
        decoded = set(map(unquoted, spellings))
        composed = {unicodedata.normalize("NFKC", spelling) for spelling in spellings}
        spellings = (decoded | composed) - checked
        if not spellings:
            return
    raise BadPath(path, "it is encoded again and again")


def _check_spelling(path: str, name: str, spelling: str) -> None:
    inside(spelling)
    has_dot_segment = spelling.startswith(".") or "/." in spelling
    if has_dot_segment or spelling.count("/") != name.count("/"):
        raise BadPath(path, "it is spelt so that it could lead elsewhere")


def check_new(name: str) -> None:
    """Raises BadPath for a name that a new note should not have."""
    segments = name.split("/")
    if name.endswith(".jsonl"):
        raise BadPath(name, "logs are named so")
    if len(segments) > DEEPEST:
        raise BadPath(name, f"it lies more than {DEEPEST} folders deep")
    for segment in segments:
        reason = awkward(segment)
        if not reason and len(segment.encode()) > LONGEST:
            reason = "it is too long"
        if reason:
            raise BadPath(name, reason)


def note_name(name: str) -> str:
    """Returns the note for a name below `/memories`."""
    return name if name.endswith(ENDING) else name + ENDING


def shown_name(note: str) -> str:
    """Returns the name under which a model sees a note."""
    bare = note.removesuffix(ENDING)
    stem, _, extension = bare.rpartition(".")
    if not stem or stem.endswith("/"):
        return note
    return bare if extension.lower() in _TEXTS else note


MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_AROUND = 2
"""Lines before and after the changed line in a snippet"""
_DEEPEST = 2

INVALID = "Error: The path {path} does not exist. Please provide a valid path."
MISSING = "Error: The path {path} does not exist"
NOT_SEEN = "The path {path} does not exist. Please provide a valid path."
EXISTS = "Error: File {path} already exists"
CREATED = "File created successfully at: {path}"
EDITED = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
NO_MATCH = "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
SEVERAL = (
    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
    "Please ensure it is unique"
)
INSERTED = "The file {path} has been edited."
LINE_RANGE = "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
DELETED = "Successfully deleted {path}"
RENAMED = "Successfully renamed {old} to {new}"
TAKEN = "Error: The destination {path} already exists"
TOO_MANY_LINES = "File {path} exceeds maximum line limit of 999,999 lines."


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Returns lines with their numbers."""
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def content(path: str, lines: Sequence[str], view_range: Sequence[int] | None) -> str:
    """Returns the view of a file; `view_range` has the first and the last line, -1 for the end."""
    first, last = view_range or (1, -1)
    start = max(1, first) - 1
    end = len(lines) if last == -1 else max(last, 0)
    body = numbered(with_flags(lines[start:end]), start + 1)
    return f"Here's the content of {path} with line numbers:\n{body}"


def snippet(text: str, line: int) -> str:
    """Returns the lines around a line, which is counted from 0."""
    lines = text.split("\n")
    start = max(0, line - _AROUND)
    return numbered(with_flags(lines[start : line + _AROUND + 1]), start + 1)


def listing(path: str, files: Mapping[str, int]) -> str:
    """Returns the view of a folder: its files by name with their sizes, and their folders."""
    path = path.rstrip("/")
    rows = [f"{_size(sum(files.values()))}\t{path}"]
    folders: set[str] = set()
    for name in sorted(files, key=lambda name: name.split("/")):
        segments = name.split("/")
        if "node_modules" in segments:
            continue
        for depth in range(1, min(len(segments) - 1, _DEEPEST) + 1):
            folder = "/".join(segments[:depth]) + "/"
            if folder not in folders:
                folders.add(folder)
                rows.append(f"{_size(_size_below(folder, files))}\t{path}/{folder}")
        if len(segments) <= _DEEPEST:
            rows.append(f"{_size(files[name])}\t{path}/{name}")
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    return "\n".join([head, *rows])


def _size_below(folder: str, files: Mapping[str, int]) -> int:
    return sum(size for name, size in files.items() if name.startswith(folder))


def _size(count: int) -> str:
    """Returns a number of bytes for people: 512B, 1.5K, 2M."""
    size = float(count)
    unit = "B"
    for larger_unit in "KMG":
        if size < 1024:
            break
        size /= 1024
        unit = larger_unit
    return f"{size:.0f}{unit}" if size.is_integer() else f"{size:.1f}{unit}"
