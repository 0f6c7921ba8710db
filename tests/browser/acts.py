"""What people and the bot do to the vault, and what tests ask of an open tab."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.scenarios.outside import Outside

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

CONFIG = "Users/mira/lantern/config"
USER = f"{CONFIG}/USER.md"
RULES = f"{CONFIG}/RULES.md"
FACTS = f"{CONFIG}/FACTS.md"
PREFERENCE = "[preference] Drinks her coffee black and her tea with too much honey"
LEFT_HANDED = "Is left-handed; the tools in the lamp room hang on the left of the hook board"
NIGHT = "2026-05-27"
PATIENCE_MS = 15_000


def expect(place: "Locator | Page") -> Any:
    """Returns Playwright's assertions, which wait."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MS)
    return expect(place)


def goto(tab: "Page", path: str) -> int:
    """Opens a path of the page that the tab shows. Returns the status."""
    parts = urlsplit(tab.url)
    answer = tab.goto(f"{parts.scheme}://{parts.netloc}{path}")
    assert answer is not None
    return answer.status


def heading(tab: "Page") -> str:
    """The name of the view."""
    return tab.get_by_role("heading", level=1).inner_text()


def script_runs(tab: "Page") -> None:
    """Waits for the module of the page, which leaves this mark."""
    expect(tab.locator("body[data-script]")).to_be_attached()


def append(house: Outside, line: str, *options: str) -> None:
    """A person adds an item to Mira's note."""
    house.ok("append", USER, "Preferences", line, *options)


def propose(house: Outside, line: str = LEFT_HANDED) -> str:
    """The bot proposes to remove what a person wrote. Returns the id of the proposal."""
    answer = house.ok("remove", USER, "About", line, "--source", "tool")
    return str(answer["proposed"][0]["id"])


def leave_conflict_copy(house: Outside) -> None:
    """A sync program leaves a copy in which the same line has another text."""
    note = house.vault / USER
    copy = note.with_name("USER.sync-conflict-20260526-120000-ABCDEFG.md")
    text = note.read_text("utf-8")
    note.write_text(text.replace("too much honey", "some honey"), "utf-8")
    copy.write_text(text.replace("too much honey", "no honey"), "utf-8")


def learn(house: Outside) -> None:
    """A person says something, and the bot learns it at night."""
    for minute, text in enumerate(("I am allergic to mackerel.", "Always answer me in English.")):
        house.ok(
            *("record", "--session", "talk", "--role", "user", "--user", "mira", text),
            *("--now", f"2026-05-26T20:0{minute}"),
        )
    house.ok("sleep", "--now", f"{NIGHT}T06:00")


def throw_away(house: Outside) -> None:
    """A person decides a conflict, and its copy goes to the trash."""
    note = house.vault / USER
    copy = note.with_name("USER.sync-conflict-20260520-120000-ABCDEFG.md")
    copy.write_text(note.read_text("utf-8") + "- an older line\n", "utf-8")
    listed = house.ok("conflicts")["items"]
    house.ok("conflicts", "discard", listed[0]["id"])


def tabs(context: "BrowserContext", url: str, count: int) -> "list[Page]":
    """Opens the same view in several tabs."""
    opened = [context.new_page() for _ in range(count)]
    for page in opened:
        page.goto(url)
    return opened
