"""The reference of the page names what a person can open, press and type."""

import re
from pathlib import Path

import msgspec
import pytest

from vault_memory.addons.page.page_routes import ROUTES, PageRoute

PROJECT = Path(__file__).resolve().parent.parent.parent
REFERENCE = PROJECT / "docs" / "reference" / "page.md"
TEMPLATES = PROJECT / "vault_memory" / "addons" / "page" / "templates"
OF_THE_PAGE = {"base", "restored", "saved"}
"""Fields that only the page itself sends"""


def rows(heading: str) -> list[str]:
    """Returns the items below a heading."""
    _, _, text = REFERENCE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    section, _, _ = text.partition("\n## ")
    return [line for line in section.splitlines() if line.startswith("- ")]


def addresses(row: str) -> set[str]:
    """Returns what an item is about."""
    return names(row.partition(": ")[0])


def names(cell: str) -> set[str]:
    """Returns what is in backticks."""
    return set(re.findall(r"`([^`]+)`", cell))


def row_of(route: PageRoute) -> str:
    """Returns the item that names the path of a route."""
    heading = "Views" if route.method == "GET" else "Buttons"
    for row in rows(heading):
        if route.path in addresses(row):
            return row
    raise AssertionError(f"the reference does not name {route.method} {route.path}")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_each_view_and_button_is_in_the_reference_with_its_fields(route: PageRoute) -> None:
    row = row_of(route)

    if route.method == "GET":
        fields = {field.encode_name for field in msgspec.structs.fields(route.takes)}
        in_path = set(re.findall(r"{(\w+)}", route.path))
        assert names(row.partition(". Fields: ")[2]) == fields - in_path - OF_THE_PAGE


def test_the_reference_names_no_view_or_button_that_does_not_exist() -> None:
    tables = {"Views": "GET", "Buttons": "POST"}
    for heading, method in tables.items():
        paths = {route.path for route in ROUTES if route.method == method}
        assert rows(heading)
        for row in rows(heading):
            assert addresses(row) <= paths


def test_each_key_that_the_page_lists_is_in_the_reference() -> None:
    template = (TEMPLATES / "parts.html").read_text(encoding="utf-8")
    keys = set(re.findall(r"<kbd>(.+?)</kbd>", template))

    text = "\n".join(row.partition(": ")[0] for row in rows("Keys"))

    assert keys
    assert keys <= set(re.findall(r"[\w/?]+", text.replace("+", " ")))
