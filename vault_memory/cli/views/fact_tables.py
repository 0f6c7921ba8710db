"""Facts on a terminal: a table with the id, the subject, and what is known of it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vault_memory.cli.views.screen import Screen
from vault_memory.cli.views.tables import table
from vault_memory.rules.facts import unclear

if TYPE_CHECKING:
    from vault_memory.rules.facts.fact import Fact

HEADERS = ("ID", "ABOUT", "FACT")


def facts_table(
    facts: "Sequence[Fact]",
    screen: Screen,
) -> str:
    """Return the facts as a table; a sentence without any."""
    if not facts:
        return "nothing is known"
    values = unclear.unclear_values(facts)
    rows = map(partial(_row, values), facts)
    return table(HEADERS, list(rows), screen.columns)


def _row(
    values: "Mapping[str, tuple[str, ...]]",
    fact: "Fact",
) -> tuple[str, str, str]:
    label = fact.id if fact.text else "(follows)"
    return (label, fact.subject, unclear.shown_line(fact, values))
