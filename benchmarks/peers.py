"""Programs that index folders of Markdown, as they are installed on PATH, beside this one on the same notes.

`peers.md` names their versions and says how to install them. A program that is not installed
has no row. Each figure is the CPU time of whole processes, children included.
"""

import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import vaults
from benchmarks.cost import process_cpu
from benchmarks.place import OFF, Place, program
from benchmarks.table import Row

NOTES = 10_000
ROUNDS = 3
EDITED = "- the bread bin is behind the lamp\n"


@dataclass(frozen=True, slots=True)
class Peer:
    """The command lines of one program, which also get the vault as `{vault}`."""

    name: str
    first: tuple[str, ...]
    again: tuple[str, ...]
    search: tuple[str, ...]


PEERS = (
    Peer(
        "qmd",
        ("qmd", "collection", "add", "{vault}", "--name", "bench"),
        ("qmd", "update"),
        ("qmd", "search", "{question}"),
    ),
    Peer(
        "markdown-vault-mcp",
        ("markdown-vault-mcp", "index", "--source-dir", "{vault}"),
        ("markdown-vault-mcp", "reindex", "--source-dir", "{vault}"),
        ("markdown-vault-mcp", "search", "{question}", "--source-dir", "{vault}"),
    ),
)
OURS = Peer(
    "vault-memory",
    (program(), "index", "--vault", "{vault}"),
    (program(), "index", "--vault", "{vault}"),
    (program(), "search", "{question}", "--vault", "{vault}"),
)


def rows(place: Place) -> Iterator[Row]:
    """For each program that is installed, what the same work costs it and this program."""
    for peer in PEERS:
        if not shutil.which(peer.name):
            continue
        vault = place.vault("compared", NOTES)
        note = next(vault.rglob("*.md"))
        theirs: list[dict[str, float]] = []
        ours: list[dict[str, float]] = []
        for question in vaults.questions([note.read_text()], ROUNDS):
            # They take turns, so that a busy minute is one for both.
            theirs.append(_costs(place, peer, vault, note, question))
            ours.append(_costs(place, OURS, vault, note, question))
        for figure in theirs[0]:
            their, our = (
                statistics.median(each[figure] for each in costs) for costs in (theirs, ours)
            )
            yield Row(
                f"{figure}, {NOTES:,} notes, new processes",
                f"{their:.2f} CPU s ({peer.name})",
                "–",
                f"{our:.2f} CPU s",
                "–",
                None,
            )


def _costs(place: Place, peer: Peer, vault: Path, note: Path, question: str) -> dict[str, float]:
    """CPU seconds of one round with an index that is new."""
    with TemporaryDirectory(dir=place.root) as home:
        own = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), home)
        own["MARKDOWN_VAULT_MCP_INDEX_PATH"] = f"{home}/index.sqlite"
        environment = place.environment(OFF) | own

        def cost(words: Sequence[str]) -> float:
            command = [word.format(vault=vault, question=question) for word in words]
            return process_cpu(command, environment)

        costs = {"index from nothing": cost(peer.first), "nothing changed": cost(peer.again)}
        with note.open("a") as file:
            file.write(EDITED)
        costs["one line more"] = cost(peer.again)
        costs["a search"] = cost(peer.search)
    return costs
