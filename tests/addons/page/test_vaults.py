"""The vaults in which the page is looked at have what they promise."""

from pathlib import Path

from tests.browser import vaults


def test_the_lively_vault_has_what_waits_and_what_is_new(tmp_path: Path) -> None:
    house = vaults.lively(tmp_path)

    inbox, conflicts = house.ok("inbox")["items"], house.ok("conflicts")["items"]
    records = house.ok("log", "--limit", "200")["records"]
    learned = [record for record in records if record["source"] in ("nightly", "talk")]
    edits = [record for record in records if record["source"] in ("cli", "tool")]
    facts = house.ok("facts", "--entity", "mira")["facts"]

    assert len(inbox) == 3
    assert sum("instruction" in proposal["why"] for proposal in inbox) == 1
    assert len(conflicts) == 2
    assert len(house.ok("held", "--user", "mira")["held"]) == 1
    assert len({record["ts"][:10] for record in learned}) == 3
    assert len(edits) >= 12
    assert {"owns", "born_on"} <= {fact["predicate"] for fact in facts}
    assert "works_with" not in {fact["predicate"] for fact in facts}
    assert len(house.ok("trash")["items"]) == 1
    assert "born_on: 3 March" in (house.vault / vaults.USER).with_name("FACTS.md").read_text()


def test_the_vault_from_obsidian_has_sixty_notes_and_no_turn(tmp_path: Path) -> None:
    house = vaults.obsidian(tmp_path)

    status = house.ok("status")

    assert status["index"]["notes"] == 60
    assert not list(house.vault.glob("People/Dov*"))
    assert "Dov Stern" in (house.vault / "Journal/2026-05-04.md").read_text()


def test_the_empty_vault_knows_nothing(tmp_path: Path) -> None:
    house = vaults.empty(tmp_path)

    assert house.ok("inbox")["items"] == []
    assert house.ok("facts")["facts"] == []
