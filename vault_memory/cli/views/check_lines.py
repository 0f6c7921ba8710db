"""The checks of `doctor`, a line for each, with the fix of what is wrong."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import Screen, wrapped

if TYPE_CHECKING:
    from vault_memory.edits.reports import Check

SIGNS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}
INDENT = "      "


def checks_text(checks: "Sequence[Check]", screen: Screen | None) -> str:
    """Return the checks; a terminal gets them wrapped, with their number at the end."""
    lines = [line for check in checks for line in _lines(check, screen)]
    if screen:
        lines += ["", _summary(checks)]
    return "\n".join(lines)


def _lines(check: "Check", screen: Screen | None) -> Iterator[str]:
    sign, colour = SIGNS[check.state]
    texts = _fitted(f"{check.name}: {check.reason}", screen)
    yield f"{styled(sign, fg=colour)}  {texts[0].removeprefix(INDENT)}"
    yield from texts[1:]
    # A check that is well may name a fix, too, which is of no use then.
    if check.fix and check.state != "ok":
        yield from _fitted(f"fix: {check.fix}", screen)


def _fitted(text: str, screen: Screen | None) -> list[str]:
    if screen is None:
        return [INDENT + text]
    return wrapped(escaped(text), screen.prose, first=INDENT)


def _summary(checks: "Sequence[Check]") -> str:
    counts = Counter(check.state for check in checks)
    number = len(checks)
    return f"{number} checks: {counts['fail']} failed, {counts['warn']} with a warning"
