"""Rules that no longer hold stay in the note, and prompts leave them out."""

from tests.every import every
from vault_memory.rules.context.rule_archive import is_archive, without_archive


@every(
    ("page", "active"),
    [
        ("## Rules\n- a\n", "## Rules\n- a\n"),
        ("## Rules\n- a\n## Archived\n- b\n", "## Rules\n- a"),
        ("top\n## archived \n- b\n### deeper\n- c\n## Rules\n- a\n", "top\n## Rules\n- a\n"),
        ("# Archived\n- b\n## below\n- c\n# Rules\n- a", "# Rules\n- a"),
        ("### Archived\n- b\n## Rules\n- a", "## Rules\n- a"),
        ("## Rules\n- about the Archived\n", "## Rules\n- about the Archived\n"),
        ("```\n## Archived\n```\n- a\n", "```\n## Archived\n```\n- a\n"),
        ("## Archived rules\n- a\n", "## Archived rules\n- a\n"),
        ("", ""),
    ],
)
def test_a_page_is_shown_without_its_archive_and_what_is_below_it(page: str, active: str) -> None:
    assert without_archive(page) == active


def test_the_heading_of_the_archive_counts_in_any_case() -> None:
    assert [is_archive(name) for name in ("Archived", " ARCHIVED ", "Archive", "")] == [
        True,
        True,
        False,
        False,
    ]
