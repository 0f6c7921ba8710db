"""An index that is built anew answers as the one that grew, whatever was read and learned before."""

import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.search.test_fading import ANN, LEDGER, NOW, Vault, note_of
from vault_memory.contract import SearchMode
from vault_memory.edits.calls import EditOptions
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate

TYPES = ("identity", "plan", "event", "context", "ephemeral", "goal")
COMPANIONS = ("with Bo", "with Al", "alone", "in the tea house with Bo")

Step = tuple[str, int, str]
"""An action, days before `NOW`, and the text that it is about"""
TEXTS = st.builds(
    lambda type_, who: f"[{type_}] Drank tea {who}",
    st.sampled_from(TYPES),
    st.sampled_from(COMPANIONS),
)
DAYS = st.sampled_from([0, 1, 3, 20, 60, 119, 200, 500])


def learn(vault: Vault, days: int, text: str) -> None:
    vault.learn(days, text)


def support(vault: Vault, days: int, text: str) -> None:
    """A turn says again what a note says."""
    note = note_of(days)
    vault.learn(days, text)
    skip = SkippedDuplicate("Learned", text, content_key(ANN, text), f"t{days}")
    vault.memory.edits.record_duplicates(note, [skip], EditOptions("nightly", now=NOW))


def support_elsewhere(vault: Vault, days: int, text: str) -> None:
    """A record of another device arrives: a turn says again what a note says."""
    vault.learn(days, text)
    audit = vault.root / f"{note_of(days)}.audit.jsonl"
    *_, last = audit.read_text().splitlines()
    skip = SkippedDuplicate("Learned", text, content_key(ANN, text), f"e{days}")
    op = {"op": skip.as_op(), "outcome": "noop_dup"}
    record = json.loads(last) | {"applied": [op], "diff": "", "device": "d2"}
    record["id"] = f"{int(record['id'][:12], 16) + 1:012x}{record['id'][12:]}"
    record["before"] = record["after"]
    with audit.open("a") as stream:
        stream.write(json.dumps(record) + "\n")


def read(vault: Vault, days: int, text: str) -> None:
    vault.search(text, now=NOW - timedelta(days=days % 7))


def fold(vault: Vault, days: int, text: str) -> None:
    vault.memory.sleep(scopes=[ANN], now=NOW - timedelta(days=days % 7))


def count_elsewhere(vault: Vault, days: int, text: str) -> None:
    """A line of another device arrives, perhaps an old one."""
    last = (NOW - timedelta(days=days % 30)).date().isoformat()
    reads = {content_key(ANN, text): [1 + days % 9, last]}
    record = {"ts": NOW.isoformat(), "device": f"d{days % 3}", "reads": reads}
    file = vault.root / LEDGER
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as stream:
        stream.write(json.dumps(record) + "\n")


def write_by_hand(vault: Vault, days: int, text: str) -> None:
    vault.write(days, text)


def confirm(vault: Vault, days: int, text: str) -> None:
    vault.learn(days, f"{text} ({note_of(days)[-13:-3]}, confirmed)")


def delete(vault: Vault, days: int, text: str) -> None:
    (vault.root / note_of(days)).unlink(missing_ok=True)


ACTIONS: dict[str, Callable[[Vault, int, str], None]] = {
    action.__name__: action
    for action in (
        learn,
        support,
        support_elsewhere,
        read,
        fold,
        count_elsewhere,
        write_by_hand,
        confirm,
        delete,
    )
}
STEPS = st.lists(
    st.tuples(st.sampled_from([*ACTIONS, "learn", "read"]), DAYS, TEXTS), min_size=3, max_size=12
)
BO = "[event] Drank tea with Bo"


def answers(vault: Vault) -> list[Any]:
    """The answers in all modes, with the terms of each score."""
    options = itertools.product(get_args(SearchMode), (False, True))
    return [answer(vault, mode=mode, archived=archived) for mode, archived in options]


def answer(vault: Vault, **options: Any) -> Any:
    result = vault.search("drank tea", why=True, limit=20, **options)
    hits = [
        (hit.note, hit.lines, hit.state, round(hit.score, 9), hit.why.terms) for hit in result.hits
    ]
    return options, hits, result.left_out


@pytest.mark.sampled
@settings(max_examples=12)
@given(STEPS)
@example([("learn", 119, BO), ("read", 0, BO), ("fold", 0, BO)])
@example([("learn", 200, BO), ("count_elsewhere", 8, BO), ("count_elsewhere", 5, BO)])
@example([("learn", 60, BO), ("support", 60, BO), ("support", 119, BO)])
@example([("learn", 119, BO), ("support_elsewhere", 119, BO)])
@example([("learn", 119, BO), ("confirm", 119, BO), ("delete", 119, BO)])
def test_a_rebuilt_index_answers_alike_after_any_reads_and_folds(
    tmp_path_factory, steps: list[Step]
) -> None:
    vault = Vault(tmp_path_factory.mktemp("law"))
    with vault.memory:
        for action, days, text in steps:
            ACTIONS[action](vault, days, text)
            vault.texts()

        before = answers(vault)
        vault.memory.index(rebuild=True, embed=False)

        assert answers(vault) == before
