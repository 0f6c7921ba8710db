"""Generated notes edited on both sides, judged by an oracle that knows what each side did."""

import re
from collections.abc import Callable

import pytest

from tests.effort import cases
from tests.every import every
from tests.markdown.merging.oracle import Oracle
from tests.markdown.merging.triples import Triple, triple
from vault_memory.markdown.merging.three_way import Merged, merge

EVERY_DAY, IN_DEPTH = cases(20_000), 1_000_000
AT_ONCE = EVERY_DAY // 8

Merge = Callable[[bytes, bytes, bytes], Merged]


def faults(merging: Merge, made: Triple) -> list[str]:
    merged = merging(*made.raws())
    if merged.result is None:
        return ["no result, though nothing is broken"]
    return Oracle(made).faults(
        merged.result, b"".join(conflict.other + b"\n" for conflict in merged.conflicts)
    )


def assert_no_faults(seeds: range) -> None:
    wrong = {seed: found for seed in seeds if (found := faults(merge, triple(seed)))}

    assert not wrong


@pytest.mark.sampled
@every("first", range(0, EVERY_DAY, AT_ONCE))
def test_no_merge_is_silently_wrong(first: int) -> None:
    assert_no_faults(range(first, first + AT_ONCE))


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, IN_DEPTH, IN_DEPTH // 20))
def test_none_of_a_million_merges_is_silently_wrong(first: int) -> None:
    assert_no_faults(range(first, first + IN_DEPTH // 20))


PINNED = [364, 737, 944, 718, 1055, 1204, 1418, 2121, 2328, 2541, 6781, 8346]
PINNED += [10113, 17770, 19669, 1002636, 1005563, 1012863, 3074419, 76218, 95692, 169582]


@every("seed", PINNED)
def test_a_triple_that_once_merged_wrongly_now_merges_correctly(seed: int) -> None:
    assert faults(merge, triple(seed)) == []


def test_a_merge_between_people_keeps_both_lines_of_a_conflict() -> None:
    for seed in range(cases(1000)):
        made = triple(seed)
        merged = merge(*made.raws(), between_people=True, date="2026-11-21")

        assert merged.result is not None, seed
        assert not Oracle(made).faults(merged.result, b""), seed


def last_writer_wins(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    return Merged(theirs)


def union_of_lines(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """All lines of theirs, and ours behind the line they stood behind."""
    result = theirs.splitlines(keepends=True)
    for number, line in enumerate(lines := ours.splitlines(keepends=True)):
        if line not in result:
            place = (
                result.index(lines[number - 1]) + 1
                if number and lines[number - 1] in result
                else len(result)
            )
            result.insert(place, line)
    return Merged(b"".join(result))


def set_of_lines(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Lines as a set with three-way deletion: what a careful person writes first."""
    old, mine = set(base.splitlines()), set(ours.splitlines())
    kept = [
        line for line in theirs.splitlines() if not line.strip() or line in mine or line not in old
    ]
    yours = set(theirs.splitlines())
    added = [line for line in ours.splitlines() if line not in old and line not in yours]
    return Merged(re.sub(rb"\n+\Z", b"\n", b"\n".join([*kept, *added]) + b"\n"))


@pytest.mark.parametrize("naive", [last_writer_wins, union_of_lines, set_of_lines])
def test_the_oracle_catches_a_naive_merge(naive: Merge) -> None:
    caught = next((seed for seed in range(1000) if faults(naive, triple(seed))), None)

    assert caught is not None
    assert caught < 50


@pytest.mark.sampled
def test_the_oracle_catches_each_kind_of_fault() -> None:
    """One word too few, too many, or elsewhere, in results that are right but for that."""
    kinds: set[str] = set()
    for seed in range(400):
        made = triple(seed)
        result = merge(*made.raws()).result
        assert result is not None
        lines = result.splitlines(keepends=True)
        items = [number for number, line in enumerate(lines) if re.match(rb"[-*] ", line)]
        if len(items) < 3:
            continue
        place = items[len(items) // 2]
        changed = [
            lines[:place] + lines[place + 1 :],
            [*lines[: place + 1], lines[place], *lines[place + 1 :]],
            [lines[place], b"\n", *lines[:place], *lines[place + 1 :]],
            [*lines[: items[0]], lines[place], *lines[items[0] : place], *lines[place + 1 :]],
        ]
        for wrong in changed:
            kinds |= {fault.split(":")[0] for fault in Oracle(made).faults(b"".join(wrong), b"")}

    assert kinds >= {"lost", "too often", "wrong section", "wrong order", "wrong parent"}
