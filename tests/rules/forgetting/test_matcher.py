"""A long list is searched part by part, and nothing that crosses the border of two parts is missed."""

import pytest

from tests.every import every
from vault_memory.rules.forgetting import matcher
from vault_memory.rules.forgetting.matcher import PART_LINES, TextMatcher
from vault_memory.rules.forgetting.redaction import cut_note

BORDERS = (0, PART_LINES - 2, PART_LINES - 1, PART_LINES, PART_LINES + 14, 2 * PART_LINES)


@every("number", BORDERS)
@every("text", ["the **green** lantern", "the **green**\n  lantern", "the green [lan\n  tern](x)"])
def test_a_text_is_found_on_every_line_of_a_long_list(text: str, number: int):
    lines = [f"- item {index}" for index in range(3 * PART_LINES)]
    lines[number] = f"- {text}"
    page = "\n".join(lines)
    found_text = "green lan tern" if "[" in text else "green lantern"

    spans = TextMatcher.of(found_text).spans(page)

    assert spans
    assert all(
        page[start:end].startswith("green") and page[start:end].endswith("tern")
        for start, end in spans
    )


@pytest.mark.sampled
def test_only_lines_near_a_match_in_a_long_list_are_rendered(monkeypatch: pytest.MonkeyPatch):
    letters = 0
    render = matcher.reading

    def counting(text: str) -> object:
        nonlocal letters
        letters += len(text)
        return render(text)

    monkeypatch.setattr(matcher, "reading", counting)
    lines = [f"- item {index} of a long list" for index in range(20_000)]
    lines[10_000] = "- the green lantern"
    page = "\n".join(lines)

    redacted = cut_note(page.encode(), TextMatcher.of("green lantern"))

    assert redacted.count == 1
    assert letters < len(page) / 20
