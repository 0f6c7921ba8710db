"""Deciding on the page: the bot's proposals, conflict copies, older versions."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.browser import acts
from tests.browser.acts import USER, expect, goto, script_runs
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside

if TYPE_CHECKING:
    from playwright.sync_api import Page

Web = Callable[..., WebProcess]
GREW_UP = "Grew up in a lock-keeper's house and still counts in boats, not in cars"


def test_proposals_are_approved_and_rejected(signed_in: Web, house: Outside, tab: "Page") -> None:
    acts.propose(house, f"[identity] {GREW_UP}")
    acts.propose(house)
    signed_in()
    tab.get_by_role("link", name="Review 2 waiting").click()

    # A proposal that is rejected changes nothing, and is gone.
    before = (house.vault / USER).read_bytes()
    proposals = tab.locator("#inbox [data-item]")
    tab.get_by_role("button", name=re.compile("^Reject: .*lock-keeper")).click()
    expect(proposals).to_have_count(1)
    assert (house.vault / USER).read_bytes() == before

    proposals.get_by_role("button", name="Approve").click()
    expect(tab.locator("main")).to_contain_text("Nothing waits.")
    text = (house.vault / USER).read_text("utf-8")
    assert acts.LEFT_HANDED not in text
    assert GREW_UP in text


def test_keys_reject_the_proposal_that_they_reached(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    acts.propose(house, f"[identity] {GREW_UP}")
    acts.propose(house)
    signed_in()
    goto(tab, "/inbox")
    script_runs(tab)
    proposals = tab.locator("#inbox [data-item]")
    second = proposals.nth(1).get_attribute("data-key")

    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("r")

    expect(proposals).to_have_count(1)
    assert proposals.get_attribute("data-key") != second
    # What became of it stands in its place, behind the first proposal.
    notice = tab.locator("#inbox ol > li").nth(1).locator("#notice")
    expect(notice).to_be_focused()
    expect(notice).to_contain_text("Rejected")
    tab.keyboard.press("k")
    expect(proposals).to_be_focused()


def test_a_conflict_is_resolved_by_hand(signed_in: Web, house: Outside, tab: "Page") -> None:
    acts.leave_conflict_copy(house)
    [conflict] = house.ok("conflicts")["items"]
    signed_in()
    goto(tab, f"/conflicts/{conflict['id']}")
    script_runs(tab)

    tab.get_by_text("Write it by hand").click()
    box = tab.get_by_role("textbox", name="Text")
    text = box.input_value()
    assert "too much honey" not in text
    box.fill(text.replace("some honey", "a spoon of honey"))
    tab.get_by_role("button", name="Save").click()

    expect(tab.locator("main")).to_contain_text("Nothing waits.")
    saved = (house.vault / USER).read_text("utf-8")
    assert "her tea with a spoon of honey" in saved
    assert not house.ok("conflicts")["items"]
    # The copy can be brought back.
    assert len(house.ok("trash")["items"]) == 1


def test_an_older_version_is_restored_after_a_look_at_its_changes(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    before = (house.vault / USER).read_bytes()
    acts.append(house, "Likes the smell of tar")
    acts.append(house, "Whistles before rain")
    after = (house.vault / USER).read_bytes()
    signed_in()
    goto(tab, f"/history/{USER}")

    tab.get_by_role("region", name="Versions").get_by_role("link").last.click()
    tab.get_by_role("button", name="Restore").click()
    removed = tab.locator("main del")
    expect(removed).to_have_count(2)
    expect(removed.first).to_contain_text("smell of tar")
    assert (house.vault / USER).read_bytes() == after
    tab.get_by_role("button", name="Restore").click()

    expect(tab.locator("#notice")).to_be_focused()
    assert (house.vault / USER).read_bytes() == before


def test_a_thrown_copy_comes_back_from_the_trash(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    acts.throw_away(house)
    signed_in()
    tab.get_by_role("link", name="Changes", exact=True).click()
    tab.get_by_role("link", name="Trash", exact=True).click()

    tab.get_by_role("button", name="Restore: ").click()

    expect(tab.get_by_role("heading", name="Changed on two devices")).to_be_visible()
    assert len(list((house.vault / USER).parent.glob("*sync-conflict*"))) == 1


def test_several_proposals_are_approved_at_once(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    acts.propose(house)
    house.ok("remove", USER, "Preferences", acts.PREFERENCE, "--source", "tool")
    signed_in()
    goto(tab, "/inbox")

    for box in tab.get_by_role("checkbox", name="Choose").all():
        box.check()
    tab.get_by_role("button", name="Approve the chosen proposals").click()

    expect(tab.locator("#notice")).to_contain_text("2 proposals are approved")
    text = (house.vault / USER).read_text("utf-8")
    assert acts.LEFT_HANDED not in text
    assert acts.PREFERENCE not in text


def test_a_layout_is_chosen(signed_in: Web, house: Outside, tab: "Page") -> None:
    signed_in()

    tab.get_by_role("link", name="Settings").click()
    use = tab.get_by_role("button", name="Use: the layout").first
    chosen = (use.get_attribute("aria-label") or "").split()[3].rstrip(",")
    use.click()

    row = tab.get_by_role("listitem").filter(has_text=chosen)
    expect(row.get_by_text("in use")).to_be_visible()
    assert f'name = "{chosen}"' in house.ok("config", "show")["text"]
