"""Long runs of letters without a blank are shortened before a note is cut into chunks."""

import base64
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.markdown.chunking.splitter import LONGEST_RUN, without_long_runs

IMAGE = base64.b64encode(Random(1).randbytes(90_000)).decode()
PATH = "M12.5,3.4" + "L18.25,-7.75C1.5,2.5,3.5,4.5" * 40
TOKEN = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + IMAGE[:600].replace("/", "_") + "." + IMAGE[600:660]
)


@every(
    "line",
    [
        f"![The pier](data:image/png;base64,{IMAGE})The heron stood there.",
        f'<img alt="The pier" src="data:image/jpeg;base64,{IMAGE}"/> The heron stood there.',
        f"- [The pier](https://example.org/maps?place={TOKEN}) The heron stood there.",
        f'The pier <svg><path d="{PATH}"/></svg>The heron stood there.',
        f"| The pier | {TOKEN} | The heron stood there. |",
        f"The pier: `{TOKEN}` The heron stood there.",
        f"The pier {'ff' * 400} The heron stood there.",
        f"The pier {'%D0%BF' * 100} The heron stood there.",
        f"The pier {'ж' * 300} The heron stood there.",
    ],
    ids=["image", "HTML", "link", "drawing", "table", "token", "checksum", "escapes", "Cyrillic"],
)
def test_what_surrounds_a_long_run_is_one_chunk(line: str):
    [only] = chunk(f"{line}\n".encode())

    assert "The pier" in only.text
    assert "The heron stood there." in only.text
    assert max(map(len, only.text.split())) <= LONGEST_RUN


def test_the_host_of_a_long_link_stays():
    [only] = chunk(f"https://tides.example.org/table?key={TOKEN}".encode())

    assert "tides.example.org/table" in only.text


@every(
    "text",
    [
        "あさひがのぼる。" * 60,
        "พระอาทิตย์ขึ้น" * 60,
        "太阳升起来了" * 60,
        "ព្រះអាទិត្យ" * 60,
        "ພຣະອາທິດ" * 60,
    ],
    ids=["Japanese", "Thai", "Chinese", "Khmer", "Lao"],
)
def test_a_script_without_blanks_stays_complete(text: str):
    assert "".join(one.text for one in chunk(text.encode())) == text


def test_only_the_run_within_a_text_without_blanks_is_shortened():
    before, after = "桟橋の地図は", "にあります。鷺がいた。"
    text = without_long_runs(f"{before}https://example.org/{TOKEN}{after}".encode())

    assert text.decode() == f"{before}https://example.org/…{after}"


@every(
    "line",
    [
        "=" * 300,
        "|" + "---|" * 100,
        ",".join(f"[[Note{number}]]" for number in range(60)),
        "x" * LONGEST_RUN,
    ],
    ids=["heading", "table", "links", "a run that is short enough"],
)
def test_what_is_no_data_stays(line: str):
    assert without_long_runs(f"A\n{line}\n".encode()) == f"A\n{line}\n".encode()


@given(st.lists(st.sampled_from(["a", " ", "\n", "é", "日", "\xa0", ")", IMAGE[:300]])))
@example(["日", "a" * 201, "日"])
@example(["é" * 150, "a" * 51])
def test_lines_stay_where_they_are(parts: list[str]):
    raw = "".join(parts).encode()

    text = without_long_runs(raw)

    assert text.count(b"\n") == raw.count(b"\n")
    assert len(text) <= len(raw)
    assert without_long_runs(text) == text
