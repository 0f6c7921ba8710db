"""The texts of a board of Obsidian are read line by line, also from a file that is half saved."""

from tests.every import every
from vault_memory.rules.paths.canvas import as_markdown


@every(
    ("line", "item"),
    [
        ('{"id":"1","text":"green tea"},', "- green tea"),
        ('{"text": "a", "label" : "b\\nc"}', "- a \u00b7 b c"),
        ('{"text":"say \\"go\\" \\u00e9"}', '- say "go" \u00e9'),
        ('{"text":""}', ""),
        ('{"text":"a","text":"","label":"b"}', "- a \u00b7 b"),
        ('{"id":"text"}', ""),
        ('{"text":"cut', ""),
        ('{"text":"\\x"},{"label":"b"}', "- b"),
        ("", ""),
    ],
)
def test_a_line_gives_its_texts_as_one_item(line: str, item: str) -> None:
    assert as_markdown(line.encode()).decode() == item


def test_each_text_stays_on_its_line_and_undecodable_bytes_do_no_harm() -> None:
    raw = b'{"nodes":[\n{"text":"a"},\n{},\n{"text":"\xff"}\n'

    assert as_markdown(raw).decode() == "\n- a\n\n- \ufffd\n"
