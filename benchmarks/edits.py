"""How many chunks are embedded after an edit: counted by an embedder, over notes that are read anew each time."""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import vaults
from benchmarks.place import Place
from benchmarks.stand_in import StandIn
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory

LINES = 2_000


def rows(place: Place) -> Iterator[Row]:
    """Three rows: a line at the top of a long note, a renamed note, a restored old version."""
    vault = place.root / "edited"
    note = vault / vaults.path(1, 0)
    note.parent.mkdir(parents=True)
    words = vaults.Words(8)
    note.write_text("".join(f"- {words.text(40, 100)}\n" for _ in range(LINES)))
    old = note.read_text()
    with place.open(vault) as memory:
        counter = StandIn()
        memory.vault.semantic.embedder = counter
        whole = _embedded(memory, counter, lambda: None)
        for figure, edit, most in (
            (
                f"a line inserted at the top of a {LINES:,}-line note",
                lambda: note.write_text("- new\n" + old),
                2,
            ),
            ("a renamed note", lambda: _rename(note, note.with_name("renamed.md")), 0),
            ("a restored old version", lambda: note.with_name("renamed.md").write_text(old), 0),
        ):
            count = _embedded(memory, counter, edit)
            yield Row(
                figure,
                "whole file",
                f"{min(most, 1)}",
                f"{count} of {whole:,} embedded",
                f"≤ {most}",
                count <= most,
            )


def _rename(note: Path, to: Path) -> None:
    note.rename(to)


def _embedded(memory: VaultMemory, counter: StandIn, edit: Callable[[], object]) -> int:
    before = counter.embedded
    edit()
    memory.index()
    return counter.embedded - before
