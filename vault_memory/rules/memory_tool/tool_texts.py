"""What the memory tool answers, in the words of its reference: models know them, and act on them."""

from collections.abc import Mapping, Sequence

from vault_memory.rules.context.quoting import with_flags

MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_AROUND = 2
"""Lines shown before and after the one that was changed"""
_DEEPEST = 2

INVALID = "Error: The path {path} does not exist. Please provide a valid path."
MISSING = "Error: The path {path} does not exist"
NOT_SEEN = "The path {path} does not exist. Please provide a valid path."
EXISTS = "Error: File {path} already exists"
CREATED = "File created successfully at: {path}"
EDITED = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
NO_MATCH = (
    "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
)
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
    """Lines with their numbers."""
    return "\n".join(
        f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)
    )


def content(path: str, lines: Sequence[str], view_range: Sequence[int] | None) -> str:
    """A file as it is viewed, or some of its lines: the first and the last, which is -1 for the end."""
    first, last = view_range or (1, -1)
    start = max(1, first) - 1
    shown = lines[start : len(lines) if last == -1 else max(last, 0)]
    return f"Here's the content of {path} with line numbers:\n{numbered(with_flags(shown), start + 1)}"


def snippet(text: str, line: int) -> str:
    """The lines around one, which is counted from 0."""
    lines = text.split("\n")
    start = max(0, line - _AROUND)
    return numbered(with_flags(lines[start : line + _AROUND + 1]), start + 1)


def listing(path: str, files: Mapping[str, int]) -> str:
    """A folder as it is viewed: its files by their names below it, and the folders these lie in, with sizes."""
    path = path.rstrip("/")
    rows = [f"{_size(sum(files.values()))}\t{path}"]
    seen: set[str] = set()
    for name in sorted(files, key=lambda name: name.split("/")):
        parts = name.split("/")
        if "node_modules" in parts:
            continue
        for depth in range(1, min(len(parts) - 1, _DEEPEST) + 1):
            folder = "/".join(parts[:depth]) + "/"
            if folder not in seen:
                seen.add(folder)
                below = sum(
                    size for other, size in files.items() if other.startswith(folder)
                )
                rows.append(f"{_size(below)}\t{path}/{folder}")
        if len(parts) <= _DEEPEST:
            rows.append(f"{_size(files[name])}\t{path}/{name}")
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    return "\n".join([head, *rows])


def _size(count: int) -> str:
    """Bytes as a person reads them: 512B, 1.5K, 2M."""
    size, unit = float(count), "B"
    for larger in "KMG":
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
