"""Facts and entities on a terminal: tables with id, subject and what is known, wrapped lines."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import Screen, wrapped
from vault_memory.cli.views.tables import table
from vault_memory.rules.facts import relevance

if TYPE_CHECKING:
    from vault_memory.facts.entity_info import About
    from vault_memory.rules.facts.fact import Fact

HEADERS = ("ID", "ABOUT", "FACT")
GAP = "  "


def facts_table(facts: "Sequence[Fact]", screen: Screen) -> str:
    """Return the facts as a table; a sentence without any."""
    if not facts:
        return "nothing is known"
    values = relevance.unclear_values(facts)
    rows = map(partial(_row, values), facts)
    return table(HEADERS, list(rows), screen.columns)


def _row(values: "Mapping[str, tuple[str, ...]]", fact: "Fact") -> tuple[str, str, str]:
    label = fact.id if fact.text else "(follows)"
    return (label, fact.subject, relevance.shown_line(fact, values))


def entity_title(info: "About", name: str) -> str:
    """Return who or what an entity is and how often it is named; `name` may be painted."""
    aliases = f" (also {', '.join(info.aliases)})" if info.aliases else ""
    places = "1 place" if info.mentions == 1 else f"{info.mentions} places"
    return f"{name}: {info.type}{aliases}, named in {places}"


def entity_view(info: "About", screen: Screen) -> str:
    """Return what is known of an entity: its title, a table of facts, and the lines that name it."""
    title = wrapped(escaped(entity_title(info, info.name)), screen.prose, indent=GAP)
    lines = [styled(line, bold=True) for line in title]
    if info.summary:
        lines += wrapped(escaped(info.summary), screen.prose)
    blocks = ["\n".join(lines)]
    if info.facts:
        blocks.append(facts_table(info.facts, screen))
    hit_lines: list[str] = []
    for hit in info.hits:
        if hit.text:
            hit_lines.append(styled(f"{hit.note}:{hit.lines[0]}", fg="cyan"))
            text = escaped(hit.text.splitlines()[0]).strip()
            hit_lines += wrapped(text, screen.prose, first=GAP)
    if hit_lines:
        blocks.append("\n".join(hit_lines))
    return "\n\n".join(blocks)
