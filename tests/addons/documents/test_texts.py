"""The text of a PDF is found with its page; what cannot be read is named, and not tried again."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.addons.documents import pdfs
from tests.addons.documents.conftest import ALEX, MIRA
from tests.scenarios.outside import Outside
from vault_memory.addons.documents import document_index, page_chunks, pdf_reader, pdf_worker
from vault_memory.addons.documents.document_index import DocumentIndex, Source
from vault_memory.addons.documents.pdf_worker import PdfLimits
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.index.store import Index
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.marker import ensure_marker
from vault_memory.vault.reader import Folder

LINE = "the keeper wrote a line about the wind, the lamp and the harbour"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The sizes of the files that a worker was started for."""
    sizes: list[int] = []
    read = pdf_reader.read_pdf

    def counted(stream, limits):
        sizes.append(os.fstat(stream.fileno()).st_size)
        return read(stream, limits)

    monkeypatch.setattr(pdf_reader, "read_pdf", counted)
    return sizes


def warnings(vault: Outside) -> dict[str, str]:
    """What `doctor` warns of about documents: the fix by the reason."""
    checks = vault.ok("doctor")["checks"]
    return {
        row["reason"]: row["fix"]
        for row in checks
        if row["name"] == "documents" and row["state"] == "warn"
    }


@pytest.mark.smoke
def test_a_word_on_page_400_is_found_with_its_page(vault: Outside):
    pages = [f"{LINE}\n{LINE}"] * 800
    pages[399] += "\nthe turbidity clause"
    vault.write(f"{MIRA}/papers/lease.pdf", pdfs.of_pages(pages))
    vault.ok("index")

    hit = vault.search("turbidity")["hits"][0]
    text = vault.run("search", "turbidity").out

    assert (hit["note"], hit["lines"], hit["heading"]) == (
        f"{MIRA}/papers/lease.pdf",
        [400, 400],
        "page 400",
    )
    assert hit["text"].endswith("the turbidity clause")
    assert f"{MIRA}/papers/lease.pdf:400  page 400" in text


def test_a_chinese_pdf_is_found_by_its_words(vault: Outside):
    vault.write(f"{MIRA}/灯塔.pdf", pdfs.chinese(["第一页", "备用钥匙在蓝色的罐子里"]))
    vault.ok("index")

    found = vault.search("蓝色的罐子")["hits"][0]
    by_name = vault.search("灯塔")["hits"][0]

    assert (found["heading"], by_name["text"]) == ("page 2", "灯塔.pdf")


def test_what_cannot_be_read_is_named_by_doctor_with_its_reason_and_a_next_step(vault: Outside):
    good = pdfs.of_pages([LINE] * 3)
    vault.write(f"{MIRA}/locked.pdf", pdfs.encrypted(good))
    vault.write(f"{MIRA}/printable.pdf", pdfs.encrypted(pdfs.of_pages(["zebra"]), user=""))
    vault.write(f"{MIRA}/cut.pdf", good[: len(good) // 2])
    vault.write(f"{MIRA}/noise.pdf", bytes(range(256)) * 20)
    vault.write(f"{MIRA}/scan.pdf", pdfs.scanned())
    vault.write(f"{MIRA}/empty.pdf", b"")
    vault.write(f"{MIRA}/deep.pdf", pdfs.nested())
    vault.ok("index", "--no-embed")
    before = {path: path.read_bytes() for path in vault.vault.rglob("*") if path.is_file()}
    vault.ok("index", "--rebuild")

    found = warnings(vault)
    [damaged] = [reason for reason in found if "it is damaged" in reason]
    [locked] = [reason for reason in found if "it is encrypted" in reason]
    assert all(name in damaged for name in ("4 files", "cut.pdf", "noise.pdf", "deep.pdf"))
    assert "locked.pdf" in locked
    assert "password" in found[locked]
    assert "vault-memory index PATH" in found[damaged]
    assert "scan.pdf" in vault.run("doctor").out
    assert vault.finds("zebra")
    assert vault.search("locked")["hits"][0]["text"] == "locked.pdf (it is encrypted)"
    after = {path: path.read_bytes() for path in vault.vault.rglob("*") if path.is_file()}
    assert after == before


def test_a_document_is_read_once_until_it_changes_or_a_person_asks(
    vault: Outside, reads: list[int]
):
    broken = vault.write(f"{MIRA}/lease.pdf", b"%PDF-1.7 noise")
    vault.write(f"{MIRA}/plan.pdf", pdfs.of_pages([LINE]))
    vault.ok("index")
    vault.ok("index")
    assert len(reads) == 2

    vault.ok("index", f"{MIRA}/lease.pdf")
    assert len(reads) == 3

    broken.write_bytes(pdfs.of_pages(["the turbidity clause"]))
    assert vault.search("lease")["freshness"]["stale_files"] == [f"{MIRA}/lease.pdf"]
    vault.ok("index")
    assert len(reads) == 4
    assert vault.finds("turbidity")
    assert warnings(vault) == {}

    vault.ok("index", "--rebuild")
    assert len(reads) == 6
    assert vault.finds("turbidity")


def test_one_search_reads_no_pdf(vault: Outside, reads: list[int]):
    for number in range(30):
        vault.write(f"{MIRA}/lease {number}.pdf", pdfs.of_pages([LINE]))

    answer = vault.search("lease 7")

    assert reads == []
    assert answer["hits"][0]["text"] == "lease 7.pdf (its text is not read yet)"
    assert len(answer["freshness"]["stale_files"]) == 10
    [(reason, fix)] = warnings(vault).items()
    assert "30 files" in reason
    assert fix == "vault-memory index"


def test_a_file_that_changes_while_it_is_read_is_read_again(
    vault: Outside, monkeypatch: pytest.MonkeyPatch
):
    path = vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["the old clause"]))
    read = pdf_reader.read_pdf

    def saved_meanwhile(stream, limits):
        text = read(stream, limits)
        path.write_bytes(pdfs.of_pages(["the turbidity clause, which is longer"]))
        return text

    with monkeypatch.context() as patched:
        patched.setattr(pdf_reader, "read_pdf", saved_meanwhile)
        vault.ok("index")
    assert not vault.finds("old clause")

    vault.ok("index")

    assert vault.finds("turbidity")


def test_a_deleted_pdf_leaves_no_text_in_the_state_folder(vault: Outside):
    path = vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["the turbidity clause"]))
    vault.write(f"{ALEX}/lease.pdf", pdfs.of_pages(["of Alex"]))
    vault.ok("index")

    held = vault.run("forget", "turbidity", "--yes", "--json")
    path.unlink()
    gone = vault.ok("forget", "turbidity", "--yes")

    places = {row["place"]: row["why"] for row in held.json["remaining"]}
    assert held.code == 1
    assert "delete or edit the file" in places[f"{MIRA}/lease.pdf"]
    assert gone["remaining"] == 0
    for file in vault.state.rglob("*"):
        assert not file.is_file() or b"turbidity" not in file.read_bytes(), file


# --- PdfLimits ---


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., pdf_reader.PdfText]:
    """Reads a PDF in a worker with some limits."""

    def read(raw: bytes, **limits: int) -> pdf_reader.PdfText:
        file = tmp_path / "read.pdf"
        file.write_bytes(raw)
        with file.open("rb") as stream:
            return pdf_reader.read_pdf(stream, PdfLimits(**limits))

    return read


def test_pages_and_letters_are_limited_and_what_is_left_out_is_said(read):
    raw = pdfs.of_pages([LINE] * 20)

    assert read(raw, pages=5) == ((LINE,) * 5, "only its first 5 pages are read")
    letters = read(raw, letters=100)
    assert "".join(letters.pages) == (LINE * 2)[:100]
    assert letters.failure == "only its first 100 letters are read"


def test_a_pdf_that_takes_too_long_is_killed_with_all_that_it_gave(read):
    slow = read(pdfs.endless(), seconds=1)

    assert slow == ((), "it takes more than 1 s, or too much memory, to read")


def test_a_pdf_that_takes_too_much_memory_is_given_up(read):
    text = read(pdfs.of_pages(["\n".join([LINE] * 100_000)]), memory=100 << 20)

    assert text.pages == ()
    assert "memory" in text.failure


def test_a_page_that_unpacks_to_gigabytes_does_no_harm(read):
    text = read(pdfs.bomb())

    assert "".join(text.pages) == ""
    assert text.failure.startswith("it ")


def test_hostile_files_keep_no_other_from_being_read(
    vault: Outside, monkeypatch: pytest.MonkeyPatch, reads: list[int]
):
    monkeypatch.setattr(
        document_index.DocumentIndex.__init__, "__defaults__", (PdfLimits(seconds=5),)
    )
    vault.write(f"{MIRA}/a.pdf", pdfs.endless())
    vault.write(f"{MIRA}/b.pdf", pdfs.bomb(500))
    vault.write(f"{MIRA}/c.pdf", pdfs.of_pages(["the turbidity clause\n" + LINE * 2000]))

    vault.ok("index")
    vault.ok("index")

    assert vault.finds("turbidity")
    assert len(reads) == 3
    assert any("more than 5 s" in reason for reason in warnings(vault))


def test_a_worker_that_answers_nonsense_is_not_believed(read, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pdf_reader, "WORKER", "tests.addons.documents.nonsense")

    assert read(b"") == ((), "it takes more than 120 s, or too much memory, to read")


# --- Chunks ---


@given(st.text(max_size=4_000), st.integers(1, 2_000))
def test_chunks_have_all_of_a_page_and_none_is_long(text: str, page: int):
    chunks = list(page_chunks.page_chunks(page, text))

    def letters(text: str) -> str:
        dropped = {"-", "\u00ad"}
        text = text.encode("utf-8", "replace").decode().replace("\0", " ")
        return "".join(sign for sign in text if not sign.isspace() and sign not in dropped)

    assert letters("".join(chunk.text for chunk in chunks)) == letters(text)
    assert all(0 < len(chunk.text) <= page_chunks.LONGEST for chunk in chunks)
    assert {chunk.heading for chunk in chunks} <= {(f"page {page}",)}


def test_a_word_that_a_line_divides_is_one_word():
    [chunk] = page_chunks.page_chunks(1, "the light-\nhouse, a co\u00adoperative and 3-\n4")

    assert chunk.text == "the lighthouse, a cooperative and 3-\n4"


# --- The index is a cache ---


class Shelf:
    """A vault whose index of documents is brought up to date step by step."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vault"
        self.root.mkdir(parents=True)
        ensure_marker(self.root)
        self.documents = self.opened(folder / "state")
        self.folder = folder

    def opened(self, state: Path) -> DocumentIndex:
        marker = ensure_marker(self.root)
        source = Source(Folder(self.root), marker.vault, Layout(), "rules", state)
        return DocumentIndex(source)

    def update(self, documents: DocumentIndex) -> list[tuple]:
        with documents.updating(patience=None) as index:
            documents.put_names(index, documents.changes(index))
            documents.read_texts(index)
            return rows(index)


def rows(index: Index) -> list[tuple]:
    """What a search sees, without the numbers that depend on the order of events."""
    return sorted(
        index.connection.execute(
            "SELECT n.path, s.name, n.kind, n.date, n.bytes, n.state, c.ordinal, c.heading,"
            " c.text, c.first_line, c.date, p.reason"
            " FROM note n JOIN scope s ON s.id = n.scope JOIN chunk c ON c.note = n.id"
            " LEFT JOIN parked p ON p.path = n.path"
        ),
        key=str,
    )


FILES = [f"memory/{name}" for name in ("a.pdf", "b.jpg", "2026-01-02.pdf")] + [
    "memory/deep/a.pdf",
    "USER.pdf",
]
CONTENTS = [b"noise", pdfs.of_pages(["red lamp"]), pdfs.of_pages(["green lamp", "two"])]
STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(FILES), st.sampled_from(range(len(CONTENTS)))),
    st.tuples(st.just("remove"), st.sampled_from(FILES), st.just(0)),
    st.tuples(st.just("rename"), st.sampled_from(FILES), st.sampled_from(range(len(FILES)))),
    st.tuples(st.just("update"), st.just(""), st.just(0)),
)


@pytest.mark.sampled
@settings(max_examples=8)
@given(st.lists(STEPS, max_size=12))
def test_an_index_brought_up_to_date_in_steps_equals_one_built_afresh(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]]
):
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    for act, path, number in steps:
        file = shelf.root / path
        if act == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(CONTENTS[number])
        elif act == "update":
            shelf.update(shelf.documents)
        elif file.exists() and act == "remove":
            file.unlink()
        elif file.exists():
            target = shelf.root / FILES[number]
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(file, target)

    stepwise = shelf.update(shelf.documents)

    assert stepwise == shelf.update(shelf.opened(shelf.folder / "afresh"))


def test_another_layout_opens_no_document_of_the_former_one(tmp_path: Path):
    shelf = Shelf(tmp_path)
    (shelf.root / "memory").mkdir()
    (shelf.root / "memory" / "a.pdf").write_bytes(pdfs.of_pages(["red lamp"]))
    shelf.update(shelf.documents)
    other = DocumentIndex(shelf.documents._source._replace(rules="other rules"))

    with other.opened() as index:
        assert index is None

    assert shelf.update(other) == shelf.update(shelf.opened(tmp_path / "afresh"))


def test_a_vault_that_is_away_keeps_its_documents(vault: Outside, memory: VaultMemory):
    vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["turbidity"]))
    vault.ok("index")
    away = vault.vault.with_name("away")
    vault.vault.rename(away)
    vault.vault.mkdir()

    memory.search("turbidity", scopes=["user:mira"], refresh=False)

    vault.vault.rmdir()
    away.rename(vault.vault)
    with DocumentIndex(Source.of(memory.vault)).opened() as index:
        assert index is not None
        assert set(index.files()) == {f"{MIRA}/lease.pdf"}


def test_an_index_that_another_process_writes_is_read_meanwhile(
    vault: Outside, memory: VaultMemory
):
    vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["turbidity"]))
    vault.ok("index")
    vault.write(f"{MIRA}/plan.pdf", pdfs.of_pages(["turbidity"]))
    documents = DocumentIndex(Source.of(memory.vault))

    with documents.updating(patience=None) as index, index.transaction():
        index.remove(f"{MIRA}/lease.pdf")
        vault.write(f"{MIRA}/2026-01-04.md", "- a buoy was found\n")
        assert vault.finds("turbidity")
        assert vault.finds("buoy")

    with closing(Index(index.path, create=False)) as read:
        assert set(read.files()) == set()


def test_the_limits_are_those_that_the_worker_takes():
    assert pdf_worker.PdfLimits(*map(int, map(str, pdf_reader.LIMITS))) == pdf_reader.LIMITS
