"""`edit`, as a person uses it: an editor on a copy, and what others save meanwhile."""

import stat
import sys
from pathlib import Path

import pytest

from tests.cli.terminals import opened
from tests.scenarios.outside import Outside

NOTE = "USER.md"
TEA = "# Me\n\n## Tea\n\n- green\n- white\n\n## Boats\n\nSula is a boat.\n"

PROGRAM = """\
#!{python}
import os, stat, sys
from pathlib import Path

home, copy = Path({home!r}), Path(sys.argv[-1])
rounds = home / "rounds"
number = len(rounds.read_text()) if rounds.exists() else 0
rounds.write_text("x" * (number + 1))
(home / f"seen-{{number}}").write_bytes(copy.read_bytes())
modes = [stat.S_IMODE(path.stat().st_mode) for path in (copy, copy.parent)]
(home / "started").write_text(f"{{copy}} {{modes}} {{sys.argv[1:]}}")
print("drawn by the editor")
script = home / f"round-{{number}}.py"
if script.exists():
    exec(script.read_text())
"""


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write(NOTE, TEA)
    program = outside.home / "vim"
    program.write_text(PROGRAM.format(python=sys.executable, home=str(outside.home)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    outside.settings |= {"EDITOR": str(program), "VISUAL": ""}
    return outside


def types(vault: Outside, old: str, new: str, *, number: int = 0) -> None:
    """Lets the editor replace a text in the copy."""
    line = f"copy.write_bytes(copy.read_bytes().replace({old.encode()!r}, {new.encode()!r}))\n"
    _add(vault, line, number)


def saves_meanwhile(vault: Outside, old: str, new: str) -> None:
    """Lets another program save the note while the editor is open."""
    line = f"note = Path({str(vault.vault / NOTE)!r})\n"
    line += f"note.write_text(note.read_text().replace({old!r}, {new!r}))\n"
    _add(vault, line, 0)


def _add(vault: Outside, line: str, number: int) -> None:
    script = vault.home / f"round-{number}.py"
    script.write_text((script.read_text() if script.exists() else "") + line)


def text(vault: Outside) -> str:
    return (vault.vault / NOTE).read_text()


def copies(vault: Outside) -> list[Path]:
    """The copies of notes that were kept."""
    return [path for path in vault.home.rglob("drafts/*/*") if path.is_file()]


def test_what_is_typed_in_the_editor_is_saved_as_one_edit(vault: Outside) -> None:
    types(vault, "- green", "- black")

    answer = vault.ok("edit", NOTE)

    assert text(vault) == TEA.replace("- green", "- black")
    assert [op["op"]["op"] for op in answer["applied"]] == ["save"]
    assert vault.run("undo", answer["audit_id"]).code == 0
    assert text(vault) == TEA
    assert copies(vault) == []


def test_the_copy_is_private_and_has_the_name_of_the_note(vault: Outside) -> None:
    vault.run("edit", NOTE)

    started = (vault.home / "started").read_text()
    path, modes = started.split(" [")[:2]
    assert Path(path).name == NOTE
    assert not Path(path).is_relative_to(vault.vault)
    assert modes == f"{0o600}, {0o700}]"


def test_the_answer_is_one_json_object_beside_what_the_editor_draws(vault: Outside) -> None:
    types(vault, "- green", "- black")

    done = vault.run("edit", NOTE, "--json")

    assert done.json["note"] == NOTE
    assert "drawn by the editor" in done.err


def test_an_untouched_copy_writes_nothing(vault: Outside) -> None:
    done = vault.run("edit", NOTE)

    assert done.code == 0
    assert "was not changed" in done.out
    assert vault.ok("log")["records"] == []
    assert copies(vault) == []


def test_an_editor_that_fails_writes_nothing_and_the_typed_text_is_kept(vault: Outside) -> None:
    types(vault, "- green", "- black")
    _add(vault, "sys.exit(3)\n", 0)

    done = vault.run("edit", NOTE)

    assert done.code == 1
    assert text(vault) == TEA
    [copy] = copies(vault)
    assert copy.read_text() == TEA.replace("- green", "- black")
    assert str(copy) in done.err
    assert "exit code 3" in done.err


def test_an_editor_that_cannot_start_leaves_no_copy(vault: Outside) -> None:
    vault.settings["EDITOR"] = "/no/such/editor"

    assert vault.run("edit", NOTE).code == 2

    assert copies(vault) == []


def test_what_others_save_meanwhile_is_kept_and_shown(vault: Outside) -> None:
    saves_meanwhile(vault, "Sula is", "Sula was")
    types(vault, "- green", "- black")

    done = vault.run("edit", NOTE)

    assert done.code == 0
    merged = TEA.replace("Sula is", "Sula was").replace("green", "black")
    assert text(vault) == merged
    assert "others wrote meanwhile" in done.out
    assert "+Sula was a boat." in done.out


def test_a_conflict_writes_nothing_and_names_the_copy_with_both_texts(vault: Outside) -> None:
    saves_meanwhile(vault, "is a boat", "was a boat")
    types(vault, "is a boat", "is a ship")

    done = vault.run("edit", NOTE, "--json")

    assert done.code == 5
    assert done.error["code"] == "save_conflict"
    assert text(vault) == TEA.replace("is a boat", "was a boat")
    [copy] = copies(vault)
    assert done.error["copy"] == str(copy)
    assert "Sula was a boat." in copy.read_text()
    assert "Sula is a ship." in copy.read_text()


def test_after_a_conflict_the_copy_is_edited_again_and_saved(vault: Outside) -> None:
    saves_meanwhile(vault, "is a boat", "was a boat")
    types(vault, "is a boat", "is a ship")
    _add(vault, "copy.write_text('# Me\\n\\nSula was a ship.\\n')\n", 1)
    terminal = opened(vault, "edit", NOTE)

    terminal.wait_for("Edit it again?")
    terminal.type("y\n")

    assert terminal.end() == 0
    assert text(vault) == "# Me\n\nSula was a ship.\n"
    assert "was a boat" in (vault.home / "seen-1").read_text()
    assert "is a ship" in (vault.home / "seen-1").read_text()
    assert copies(vault) == []


@pytest.mark.sampled
@pytest.mark.parametrize("answer", ["n\n", "y\n", None])
def test_after_a_conflict_an_unedited_copy_is_kept(vault: Outside, answer: str | None) -> None:
    saves_meanwhile(vault, "is a boat", "was a boat")
    types(vault, "is a boat", "is a ship")
    terminal = opened(vault, "edit", NOTE)

    terminal.wait_for("Edit it again?")
    if answer:
        terminal.type(answer)

    assert (terminal.end() if answer else terminal.interrupt()) == 5
    [copy] = copies(vault)
    assert copy.parent.name in terminal.plain
    assert text(vault) == TEA.replace("is a boat", "was a boat")


def test_texts_that_cannot_be_merged_are_both_in_the_copy(vault: Outside) -> None:
    vault.write(NOTE, TEA + "```\nopen\n")
    saves_meanwhile(vault, "is a boat", "was a boat")
    types(vault, "is a boat", "is a ship")

    assert vault.run("edit", NOTE).code == 5

    [copy] = copies(vault)
    assert copy.read_text() == (TEA + "```\nopen\n").replace(
        "Sula is a boat.\n",
        "<<<<<<< yours\nSula is a ship.\n=======\nSula was a boat.\n>>>>>>> on disk\n",
    )


def test_a_note_deleted_meanwhile_stays_deleted_and_the_text_is_kept(vault: Outside) -> None:
    _add(vault, f"Path({str(vault.vault / NOTE)!r}).unlink()\n", 0)
    types(vault, "- green", "- black")

    done = vault.run("edit", NOTE)

    assert done.code == 5
    assert not (vault.vault / NOTE).exists()
    [copy] = copies(vault)
    assert "- black" in copy.read_text()
    assert str(copy) in done.err


def test_a_new_note_is_made_from_the_typed_text(vault: Outside) -> None:
    _add(vault, "copy.write_text('# Plan\\n\\n- row\\n')\n", 0)

    done = vault.run("edit", "memory/plan.md")

    assert done.code == 0
    assert (vault.vault / "memory/plan.md").read_text() == "# Plan\n\n- row\n"
    assert "is a new note" in done.err


def test_a_dry_run_shows_the_change_and_keeps_the_text(vault: Outside) -> None:
    types(vault, "- green", "- black")

    done = vault.run("edit", NOTE, "--dry-run")

    assert "+- black" in done.out
    assert text(vault) == TEA
    [copy] = copies(vault)
    assert str(copy) in done.err


@pytest.mark.parametrize("raw", [b"- a\0\n", b"- \xff\n", b"- a\r- b\n"])
def test_a_note_that_is_no_text_is_refused_before_the_editor_starts(
    vault: Outside, raw: bytes
) -> None:
    (vault.vault / NOTE).write_bytes(raw)

    assert vault.run("edit", NOTE).code == 2

    assert not (vault.home / "started").exists()


def test_a_name_or_an_alias_opens_the_note(vault: Outside) -> None:
    vault.write("memory/boats/Home port.md", "# Home port\n\n- berth\n")
    types(vault, "- berth", "- ring")

    done = vault.run("edit", "home port")

    assert done.code == 0
    assert "is memory/boats/Home port.md" in done.err
    assert "- ring" in (vault.vault / "memory/boats/Home port.md").read_text()


def test_an_editor_with_windows_gets_the_flag_that_makes_it_wait(vault: Outside) -> None:
    code = vault.home / "code"
    code.write_bytes((vault.home / "vim").read_bytes())
    code.chmod(0o700)
    vault.settings["EDITOR"] = str(code)

    done = vault.run("edit", NOTE)

    assert "['--wait', " in (vault.home / "started").read_text()
    assert "ended at once" in done.err


def test_ctrl_c_in_the_editor_does_not_end_it(vault: Outside) -> None:
    _add(vault, "import time\nprint('ready', flush=True)\ntime.sleep(0.6)\n", 0)
    types(vault, "- green", "- black")
    terminal = opened(vault, "edit", NOTE)

    terminal.wait_for("ready")

    assert terminal.interrupt() == 0
    assert "- black" in text(vault)


def test_forget_names_a_kept_copy_that_has_the_text(vault: Outside) -> None:
    types(vault, "- green", "- the code of the cellar is 4417")
    vault.run("edit", NOTE, "--dry-run")
    [copy] = copies(vault)

    done = vault.run("forget", "the code of the cellar is 4417", "--yes")

    assert f"drafts/{copy.parent.name}/{NOTE}" in done.out + done.err
