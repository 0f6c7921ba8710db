"""What a layout claims of a vault, and which layout fits it best."""

from tests.every import every
from vault_memory.rules.paths import globs, layout_survey
from vault_memory.rules.paths.layout import Layout, Pattern
from vault_memory.rules.paths.layout_survey import LayoutProposal, Signs, Survey, preset

OWN = Layout([], exclude=("drafts/**",))
NO_SIGNS = Signs()


def test_claimed_excluded_and_other_notes_are_counted_with_examples_from_the_top() -> None:
    paths = [
        "USER.md",
        "memory/a.md",
        "drafts/b.md",
        "x/y/deep.md",
        "z.md",
        "x/c.md",
        "x/b.md",
        "photo.png",
        "transcripts/2026-05-25.jsonl",
    ]

    found = layout_survey.survey(paths, OWN)

    assert found == Survey(2, 4, 1, ("z.md", "x/b.md", "x/c.md"))
    assert found.total == 6


@every(
    ("survey", "mostly", "most"),
    [
        (Survey(), False, True),
        (Survey(0, 1), True, False),
        (Survey(1, 1), False, True),
        (Survey(1, 2), True, True),
        (Survey(1, 3), True, False),
        (Survey(3, 1), False, True),
    ],
)
def test_a_layout_fits_by_its_share(survey: Survey, mostly: bool, most: bool) -> None:
    assert survey.is_mostly_unclaimed is mostly
    assert survey.claims_most(instructions=1) is most


def test_instructions_for_programs_at_the_top_are_no_notes() -> None:
    paths = ["AGENTS.md", "CLAUDE.md", "x/AGENTS.md", "agents.md", "USER.md"]

    assert layout_survey.count_instructions(paths) == 2


def proposed(
    *paths: str, signs: Signs = NO_SIGNS, exclude: tuple[str, ...] = ()
) -> list[LayoutProposal]:
    return layout_survey.proposals(paths, signs, [], user="mira", bot="", exclude=exclude)


def test_the_layout_of_the_program_comes_first_then_the_one_that_claims_most() -> None:
    paths = ("a.md", "b/c.md", "USER.md")

    assert next(row.name for row in proposed(*paths)) == "plain"
    assert next(row.name for row in proposed(*paths, signs=Signs("logseq"))) == "logseq"
    names = [row.name for row in proposed("Users/ann/memories/a.md")]
    assert names[0] in ("shared", "workspace")
    assert names[-2:] == ["obsidian", "logseq"]
    assert len(names) == len(layout_survey.SUMMARIES)


def test_daily_notes_are_those_of_the_settings_or_of_the_names() -> None:
    days = tuple(f"Journal/2026-05-{day}.md" for day in range(10, 20))
    by_name = {row.name: row.daily for row in proposed(*days)}
    signs = Signs("obsidian", daily="Days/{date}.md")
    by_settings = {row.name: row.daily for row in proposed(*days, signs=signs)}

    assert by_name["obsidian"] == by_name["plain"] == "Journal/{date}.md"
    assert by_name["shared"] == by_name["workspace"] == ""
    assert by_settings["obsidian"] == "Days/{date}.md"
    assert by_settings["plain"] == "Journal/{date}.md"


def test_templates_are_left_out_after_what_a_person_excludes() -> None:
    paths = ("Templates/day.md", "a.md", "templates.md")
    excluded = {row.name: row.exclude for row in proposed(*paths, exclude=("x/**",))}
    assert excluded["plain"] == ("x/**", "Templates/**")
    assert excluded["shared"] == ("x/**",)
    signs = Signs(templates=("Forms", "a**b"))
    by_settings = {row.name: row.exclude for row in proposed(*paths, signs=signs)}
    assert by_settings["plain"] == ("Forms/**",)
    many = tuple(f"x{number}" for number in range(globs.MOST_GLOBS))
    full = {row.name: row.exclude for row in proposed(*paths, exclude=many)}
    assert full["plain"] == many


@every(
    ("name", "daily", "at_root", "claims"),
    [
        ("shared", "", False, []),
        ("workspace", "", True, []),
        ("obsidian", "D/{date}.md", True, ["D/{date}.md", "{path}.md", "{path}.canvas"]),
        ("logseq", "", True, ["{path}.md"]),
        ("plain", "", True, ["{path}.md"]),
    ],
)
def test_a_named_layout_has_its_patterns(
    name: str, daily: str, at_root: bool, claims: list[str]
) -> None:
    made = preset(name, daily)

    patterns: list[Pattern] = [*made.first, *made.last]
    assert [pattern.path for pattern in patterns] == claims
    assert made.at_root is at_root
