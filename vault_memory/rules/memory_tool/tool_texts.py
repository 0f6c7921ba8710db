"""Answers of the memory tool, in the words of its reference, which models know and act on."""

from collections.abc import Mapping, Sequence

from vault_memory.rules.context.quoting import with_flags

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
