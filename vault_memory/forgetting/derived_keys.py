"""Content keys of forgotten items, in the ledgers, and in the state folder.

A key is a hash of a short text, so it would confirm a guess of what was forgotten.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.markdown.document import parse
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.forgetting.redaction import Redacted
from vault_memory.rules.learning.ledger_lines import COUNTS, ledger_of
from vault_memory.search.item_reads import ItemReads

if TYPE_CHECKING:
    from vault_memory.rules.forgetting.matcher import TextMatcher
    from vault_memory.rules.paths.layout import Layout

ASKED = "nights/*.asked-*"
"""Files with the keys of items about which a model was asked"""


class DerivedKeys:
    """The keys of the items that one call of `forget` removes."""

    def __init__(self, layout: "Layout", matcher: "TextMatcher") -> None:
        self._layout = layout
        self._matcher = matcher
        self._keys: set[str] = set()

    def collect(self, path: str, raw: bytes) -> None:
        """Adds the keys of the items with the text in a version of a note."""
        place = self._layout.place(path)
        if place is None:
            return
        texts = (item.text for item in items_of(parse(raw)))
        for text in filter(self._matcher.hides, texts):
            self._keys.add(content_key(place.scope, text))

    def cut(self, path: str, ledger: Redacted) -> Redacted:
        """Returns a ledger without the counts of these keys."""
        place = self._layout.place(path)
        is_counts = place is not None and ledger_of(place.name) == COUNTS
        if not is_counts or not self._are_in(ledger.raw):
            return ledger
        lines = list(map(self._without_keys, ledger.raw.split(b"\n")))
        return Redacted(b"\n".join(lines), ledger.count + 1)

    def clear_state(self, state: Path) -> None:
        """Removes the keys from today's reads, and from what a model was asked."""
        ItemReads(state).drop(lambda read: read.key in self._keys)
        for file in state.glob(ASKED):
            keys = file.read_text("ascii", "replace").splitlines()
            if not self._keys.isdisjoint(keys):
                others = (key for key in keys if key not in self._keys)
                file.write_text("".join(f"{key}\n" for key in others), "ascii")

    def _are_in(self, raw: bytes) -> bool:
        return any(key.encode() in raw for key in self._keys)

    def _without_keys(self, line: bytes) -> bytes:
        try:
            record = json.loads(line)
            reads = record["reads"]
            record["reads"] = {key: reads[key] for key in reads.keys() - self._keys}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # A person edited the ledger, or a crash tore the line.
            return line
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
