"""A table of the configuration is changed by program, and the person's own lines stay."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.config.toml_edit import with_table, without_table
from vault_memory.errors import ConfigError

FILE = """# mine
[recall]
memory_budget = 3   # few

[remote] # home
url = "https://old.example.org/dav"
# every minute
poll_seconds = 60
exclude = ["*.mp4"]

# how it embeds
[embedding]
kind = "off"
"""


def test_a_key_is_changed_in_place_and_a_new_one_follows():
    changed = with_table(FILE, "remote", {"url": "https://new.example.org", "user": "mira"})

    assert changed == FILE.replace(
        "https://old.example.org/dav", "https://new.example.org"
    ).replace('exclude = ["*.mp4"]\n', 'exclude = ["*.mp4"]\nuser = "mira"\n')


def test_a_missing_table_is_added_at_the_end():
    assert with_table(
        "# mine\n[recall]\nmemory_budget = 3\n", "remote", {"url": "https://x", "insist": True}
    ) == ('# mine\n[recall]\nmemory_budget = 3\n\n[remote]\nurl = "https://x"\ninsist = true\n')
    assert with_table("", "remote", {"poll_seconds": 2.5}) == "[remote]\npoll_seconds = 2.5\n"


def test_removing_a_table_leaves_everything_else_unchanged():
    left = without_table(FILE, "remote")

    assert (
        left
        == '# mine\n[recall]\nmemory_budget = 3   # few\n\n# how it embeds\n[embedding]\nkind = "off"\n'
    )
    assert without_table(left, "remote") == left


def test_line_endings_and_odd_characters_are_kept():
    def crlf(text: str) -> str:
        return text.replace("\n", "\r\n")

    odd = FILE.replace("# few", "# few \u2028 \x85")
    values = {"url": "https://new.example.org", "user": "mira"}

    for text in (FILE, odd, "# mine\n[recall]\nmemory_budget = 3\n"):
        assert with_table(crlf(text), "remote", values) == crlf(with_table(text, "remote", values))
        assert without_table(crlf(text), "remote") == crlf(without_table(text, "remote"))
    assert "# few \u2028 \x85\n" in with_table(odd, "remote", values)


@pytest.mark.parametrize(
    "text",
    [
        'remote = { url = "https://x" }\n',
        'remote.url = "https://x"\n',
        '[remote]\nurl = """\nhttps://x"""\n',
    ],
)
def test_a_table_that_cannot_be_edited_safely_is_refused(text: str):
    with pytest.raises(ConfigError):
        with_table(text, "remote", {"url": "https://y"})


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"])))
def test_any_text_survives_editing_unchanged(value: str):
    changed = with_table(FILE, "remote", {"user": value})

    assert tomllib.loads(changed)["remote"]["user"] == value
    assert tomllib.loads(changed)["recall"] == {"memory_budget": 3}
