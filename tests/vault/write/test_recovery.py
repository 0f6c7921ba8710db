"""Recovery where a link gives the new text its name: the crash came when it had the temporary's name as well."""

from dataclasses import replace

import pytest

from tests.every import every
from tests.vault.write.lines import note
from tests.vault.write.templates import NEW, TEMPLATES, Template
from tests.vault.write.test_crashes import crashed, trace_of
from tests.vault.write.world import World

BY_NAME = {template.name: template for template in TEMPLATES}
ONLY_LINKS = BY_NAME["only links"]
CREATED = replace(BY_NAME["create"], set_up=ONLY_LINKS.set_up)
BOTH = pytest.mark.scenario("B38", "B48")


def with_two_names(template: Template) -> World:
    """The next process, after a crash between the link and the removal of the temporary's name."""
    trace = trace_of(template)
    linked = next(at for at, call in enumerate(trace) if call.startswith("link "))
    removal = next(at for at, call in enumerate(trace, 1) if at > linked and "unlink" in call)
    [world] = crashed(template, removal, "kill").after_crash("kill", set())
    assert len(names_of_note(template, world)) == 2
    return world


def names_of_note(template: Template, world: World) -> list[str]:
    """The names of the file that has the note's name."""
    entries = world.files.folders[template.path.rpartition("/")[0]].entries
    number = world.files.number_of(template.path)
    return [name for name in entries if entries[name] == number]


def lines(template: Template, world: World) -> list[str]:
    return sorted((world.files.text(template.path) or b"").decode().split())


def check_quiet(world: World) -> None:
    world.tend_until_quiet()
    assert (world.strays(), world.writer.displaced(), world.writer.pending()) == ([], [], [])
    assert len(world.writer.finished()) == 1


@BOTH
@every("template", [ONLY_LINKS, CREATED], ids=lambda template: template.name)
def test_a_note_that_an_editor_wrote_through_keeps_that_text_and_one_name(
    template: Template,
) -> None:
    world = with_two_names(template)
    saved = NEW + b"ann\n"
    world.files.person_writes(world.files.number_of(template.path), saved)

    world.writer.tend(world.now)

    assert world.files.text(template.path) == saved
    assert names_of_note(template, world) == [template.path.rpartition("/")[2]]
    check_quiet(world)
    assert lines(template, world) == ["a", "ann", "b", "bot"]


@BOTH
@every("template", [ONLY_LINKS, CREATED], ids=lambda template: template.name)
def test_a_save_through_the_old_file_is_merged_into_a_note_that_was_saved_by_rename(
    template: Template,
) -> None:
    world = with_two_names(template)
    world.files.person_writes(world.files.number_of(template.path), NEW + b"late\n")
    world.files.person_saves(template.path, NEW + b"ann\n")

    check_quiet(world)

    assert lines(template, world) == ["a", "ann", "b", "bot", "late"]


@BOTH
@every("saved", [note("a", "b", "bot", "ann"), note("a", "b", "ann"), note("bot", "ann")])
def test_a_save_by_rename_gets_each_line_of_ours_once_whether_its_author_read_it_or_not(
    saved: bytes,
) -> None:
    world = with_two_names(ONLY_LINKS)
    world.files.person_saves(ONLY_LINKS.path, saved)

    check_quiet(world)

    assert lines(ONLY_LINKS, world) == sorted({*saved.decode().split(), "bot"})
