"""The table that a run prints: one row a figure, beside the best peer, the floor and what is to be reached."""

import os
from dataclasses import dataclass

HEADS = ("figure", "best peer", "floor, this run", "ours", "reach", "reached", "load")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `reached` is None where nothing was to be reached."""

    figure: str
    peer: str
    floor: str
    ours: str
    reach: str
    reached: bool | None

    def cells(self) -> tuple[str, ...]:
        word = {True: "yes", False: "NO", None: "–"}[self.reached]
        load = f"{os.getloadavg()[0]:.1f}"  # a time by the clock means little without it
        return (self.figure, self.peer, self.floor, self.ours, self.reach, word, load)


def line(cells: tuple[str, ...]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def head() -> str:
    """The first two lines of the table."""
    return f"{line(HEADS)}\n{line(('---',) * len(HEADS))}"
