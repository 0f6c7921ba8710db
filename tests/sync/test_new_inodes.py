"""A note that is saved under another name and another inode: it is renamed, and what others do follows."""

from pathlib import Path

import pytest

from tests.sync.test_scenarios_servers import Cloud

TEXT = "## Tea\n\n- green\n- mint\n"
SAVED = {"as it was": TEXT, "with another line": TEXT + "- black\n"}


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


@pytest.mark.sampled
@pytest.mark.parametrize("text", SAVED.values(), ids=SAVED)
@pytest.mark.parametrize("others", ["edit", "leave"])
def test_a_note_that_is_saved_under_a_new_name_and_inode_is_one_move(
    cloud: Cloud, others: str, text: str
) -> None:
    cloud.agreed(USER=TEXT, tea=TEXT)
    (cloud.laptop.vault / "tea.md").unlink()
    (cloud.laptop.vault / "other.txt").write_text("takes the inode")
    cloud.laptop.save("infusions.md", text)
    if others == "edit":
        cloud.fake.other_client_put("tea.md", f"- white\n{TEXT}".encode())
    cloud.clock.pass_by(60)

    cloud.laptop.run_pass()

    files = cloud.together()
    kept = {line for line in files["infusions.md"].decode().splitlines() if line}
    edits = {"- white"} if others == "edit" else set()
    assert kept == {line for line in text.splitlines() if line} | edits
    assert "tea.md" not in files
    assert len(cloud.fake.requests("MOVE")) == 1


def test_of_two_notes_alike_under_new_names_none_counts_as_renamed(cloud: Cloud) -> None:
    cloud.agreed(USER=TEXT, tea=TEXT)
    (cloud.laptop.vault / "tea.md").unlink()
    for name in ("one", "two"):
        cloud.laptop.save(f"{name}.md", TEXT + f"- {name}\n")
    cloud.fake.other_client_put("tea.md", f"- white\n{TEXT}".encode())

    cloud.laptop.run_pass()

    assert any(b"- white" in raw for raw in cloud.together().values())
    assert not cloud.fake.requests("MOVE")
