"""A merge for these tests: a note is a set of lines, and a line stays unless a side that saw it took it away."""


def merge_lines(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """What either side has, a person's lines first; None for a note that says it cannot be merged."""
    if b"CONFLICT\n" in ours + theirs:
        return None
    before = set((base or b"").splitlines())
    mine, other = ours.splitlines(), theirs.splitlines()
    kept = [line for line in other if line in mine or line not in before]
    added = [line for line in mine if line not in other and line not in before]
    return b"".join(line + b"\n" for line in (*kept, *added))


def note(*lines: str) -> bytes:
    """The bytes of a note of these lines."""
    return "".join(f"{line}\n" for line in lines).encode()
