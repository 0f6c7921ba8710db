"""Results of `doctor`: passed, warned or failed, and files that share a reason in one sentence."""

from collections.abc import Mapping

from vault_memory.edits.reports import Check

MOST_NAMES = 5
"""Names listed in one sentence"""


def passed(name: str, reason: str) -> Check:
    """Return the result of a check that found nothing."""
    return Check(name, "ok", reason, "")


def warned(name: str, reason: str, fix: str) -> Check:
    """Return a problem that leaves the vault in use, and its fix."""
    return Check(name, "warn", reason, fix)


def failed(name: str, reason: str, fix: str) -> Check:
    """Return a problem that makes a part fail, and its fix."""
    return Check(name, "fail", reason, fix)


def by_reason(reasons: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return the paths of each reason; those without one are left out."""
    # Fault: a line for each of hundreds of files hides all other problems.
    paths: dict[str, list[str]] = {}
    for path, reason in sorted(reasons.items()):
        if reason:
            paths.setdefault(reason, []).append(path)
    return paths


def counted(paths: list[str]) -> str:
    """Return one path, or how many there are and some of them."""
    return some(paths) if len(paths) == 1 else f"{len(paths):,} files ({some(paths)})"


def some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    listed = ", ".join(f"`{name}`" for name in names[:MOST_NAMES])
    if len(names) > MOST_NAMES:
        listed += f" and {len(names) - MOST_NAMES} more"
    return listed


def without_note(notes: list[str]) -> Check:
    """Return the warning about audit files whose notes are gone."""
    return warned(
        "audit",
        f"no note continues the history of {some(notes)}",
        "if a note was renamed, rename its file `NOTE.audit.jsonl` after it; "
        "if it was deleted, this file may go, too",
    )
