"""The merges of `cases.md`, each with what must come out."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from vault_memory.markdown.merging.three_way import merge

PAGE = Path(__file__).with_name("cases.md").read_text(encoding="utf-8")


class Case(NamedTuple):
    title: str
    blocks: dict[str, str]

    def raw(self, name: str) -> bytes:
        text = self.blocks[name].replace("␍", "\r")
        text = text.removesuffix("⌫\n") if text.endswith("⌫\n") else text
        return text.replace("⟦BOM⟧", "\ufeff").encode().replace("⟦FF⟧".encode(), b"\xff")


def cases() -> list[Case]:
    found = []
    for part in re.split(r"^## (?=.*\n\n~~~~)", PAGE, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        blocks = dict(re.findall(r"^~~~~ (\w+)\n(.*?)^~~~~$", rest, re.MULTILINE | re.DOTALL))
        found.append(Case(title, blocks))
    return found


def parameter(case: Case) -> object:
    numbers = re.findall(r"\(([A-Z]\d+)\)", case.title)
    return pytest.param(
        case, id=case.title, marks=[pytest.mark.scenario(*numbers)] if numbers else []
    )


@pytest.mark.parametrize("case", [parameter(case) for case in cases()])
def test_each_documented_merge_case_gives_the_documented_result(case: Case) -> None:
    base = case.raw("base") if "base" in case.blocks else None
    people = "Between people" in case.title

    merged = merge(
        base, case.raw("ours"), case.raw("theirs"), between_people=people, date="2026-11-21"
    )

    if case.blocks["result"] == "none\n":
        assert merged.result is None
    else:
        assert merged.result is not None
        assert merged.result.decode("utf-8", "replace") == case.raw("result").decode(
            "utf-8", "replace"
        )
    told = [
        " / ".join([c.kind, c.section, c.kept.decode(), c.other.decode()]) for c in merged.conflicts
    ]
    assert [line.replace("\n", "↵") for line in told] == case.blocks.get(
        "conflicts", ""
    ).splitlines()


def test_the_cases_page_covers_each_merge_scenario() -> None:
    numbers = {number for case in cases() for number in re.findall(r"\((A\d+)\)", case.title)}

    assert numbers == {f"A{number}" for number in range(12, 22)}
    assert len(cases()) == PAGE.count("~~~~ result")
