"""Markdown-shaped lines for property tests: every mark of CommonMark, in odd company and at odd indents."""

from random import Random

from hypothesis import strategies as st

MARKS = [
    *["- ", "* ", "+ ", "1. ", "2) ", "10. ", "007. ", "1234567890. ", "-", "*", "1."],
    *["-  ", "-    ", "-     ", "-\t", "3.\t"],
    *[
        "# ",
        "## ",
        "### ",
        "####### ",
        "#",
        "##",
        "## #",
        "#tag",
        "## x ##",
        "## x#",
        "## \\#",
        "##\t",
    ],
    *["```", "````", "~~~", "```py", "``` `", "~~~ ~", "``", "```  "],
    *[
        "---",
        "***",
        "___",
        "- - -",
        "* * *",
        "--",
        "-- ",
        "=",
        "===",
        "=== ",
        "---x",
        "***x",
        "_ _ _ x",
        "--- -",
    ],
    *["> ", ">", ">> ", "> - ", "> ```", ">\t"],
    *[
        "[a]: b",
        "[a]:",
        "[a]",
        "[ ] ",
        "[x](y)",
        "[[w]]",
        "[",
        "[a",
        "a]: b",
        "[a\\]",
        "[a]: <b> 'c",
        "'c'",
        "[^1]: n",
    ],
    *[
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<a>",
        "<b",
        "<?",
        "?>",
        "<http://a>",
        "<script>",
        "</script>",
    ],
    *["| a | b |", "|---|---|", "a | b", "-|-", "**A**: ", "*a*", "_a_", "a", "b c", "..."],
    *["é", "\u2028", "\x0c", "\xa0", "\0"],
]
INDENTS = [
    "",
    "",
    "",
    "",
    " ",
    "  ",
    "  ",
    "   ",
    "    ",
    "    ",
    "     ",
    "      ",
    "        ",
    "\t",
    "\t",
    "\t\t",
    " \t",
    "  \t",
]
TEXTS = ["", "", "a", "b", " ", "  ", "\t", " a #"]

marks = st.sampled_from(MARKS)
shaped_lines = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(INDENTS),
    marks,
    st.one_of(st.just(""), marks),
    st.sampled_from(TEXTS),
)
lines = st.one_of(
    st.sampled_from(["", "", "  ", "\t", "a", "  a", "- a", "  - a", "    - a", "\t- a", "1. a"]),
    shaped_lines,
)
notes = st.lists(lines, max_size=14).map("\n".join)
line_ends = st.sampled_from(["\n", "\n", "\r\n", "\r"])

EASY = [
    "",
    "",
    "  ",
    "\t",
    "a",
    "  a",
    "- a",
    "  - a",
    "    - a",
    "\t- a",
    "\t\t- a",
    "1. a",
    "# b",
    "## c",
]


def random_note(random: Random) -> str:
    """The same shapes without hypothesis, for numbers of notes that it would take too long to make."""
    return "\n".join(_random_line(random) for _ in range(random.randrange(1, 12)))


def _random_line(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(EASY)
    second = random.choice(MARKS) if random.random() < 0.4 else ""
    return random.choice(INDENTS) + random.choice(MARKS) + second + random.choice(TEXTS)


WORDS = st.sampled_from(
    [
        *[
            "Ann",
            "likes",
            "tea",
            "**strong**",
            "coffee;",
            "(2026-01-28, ref:12)",
            "9:30",
            "-",
            "[[Home]]",
            "[site](x.org)",
        ],
        *[
            "`code`",
            "#tag,",
            "日本語",
            "текст",
            "50%",
            "*soon*",
            "_later_",
            "a_b",
            "e.g.",
            "so-called",
            "3.5",
            "[x]",
            "<3",
        ],
    ]
)
sentences = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: "So " + " ".join(words))
items = st.builds(
    "{}{}{}".format,
    st.sampled_from(["- ", "* ", "+ ", "1. ", "2) ", "- [ ] ", "- [x] ", "- **Ann**: "]),
    sentences,
    st.sampled_from(
        [
            "",
            "",
            "\n  - Nested {}\n  - More",
            "\n\t- Nested\n\t\t- More",
            "\n   goes on",
            "\n\n    a second paragraph",
        ]
    ),
)
ordinary_blocks = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), sentences),
    st.lists(items, min_size=1, max_size=6).map("\n".join),
    st.lists(sentences, min_size=1, max_size=4).map("\n".join),
    sentences.map("```python\n{}\n# no heading\n\n- no item\n```".format),
    sentences.map("~~~\n{}\n~~~".format),
    st.lists(sentences.map("> {}".format), min_size=1, max_size=3).map("\n".join),
    st.lists(sentences.map("| {} | b |".format), min_size=1, max_size=5).map(
        lambda rows: "\n".join(["| a | b |", "|---|---|", *rows])
    ),
    st.sampled_from(["---", "***", "    indented code", "Setext\n======", "Setext two\n---"]),
)
ordinary_notes = st.builds(
    "{}{}\n".format,
    st.sampled_from(["", "---\ntitle: Tea\ntopic: work\n---\n", "\ufeff"]),
    st.lists(ordinary_blocks, max_size=12).map("\n\n".join),
)
