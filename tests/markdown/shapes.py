"""Markdown-shaped lines for property tests: every mark of CommonMark, in odd company and at odd indents."""

from hypothesis import strategies as st

MARKS = [
    *["- ", "* ", "+ ", "1. ", "2) ", "10. ", "007. ", "1234567890. ", "-", "*", "1."],
    *["-  ", "-    ", "-     ", "-\t", "3.\t"],
    *["# ", "## ", "### ", "####### ", "#", "##", "## #", "#tag", "## x ##", "## x#", "## \\#", "##\t"],
    *["```", "````", "~~~", "```py", "``` `", "~~~ ~", "``", "```  "],
    *["---", "***", "___", "- - -", "* * *", "--", "-- ", "=", "===", "=== ", "---x", "***x", "_ _ _ x", "--- -"],
    *["> ", ">", ">> ", "> - ", "> ```", ">\t"],
    *["[a]: b", "[a]:", "[a]", "[ ] ", "[x](y)", "[[w]]", "[", "[a", "a]: b", "[a\\]", "[a]: <b> 'c", "'c'", "[^1]: n"],
    *["<div>", "</div>", "<!--", "-->", "<a>", "<b", "<?", "?>", "<http://a>", "<script>", "</script>"],
    *["| a | b |", "|---|---|", "a | b", "-|-", "**A**: ", "*a*", "_a_", "a", "b c", "..."],
    *["é", "\u2028", "\x0c", "\xa0", "\0"],
]
INDENTS = ["", "", "", "", " ", "  ", "  ", "   ", "    ", "    ", "     ", "      ", "        ", "\t", " \t", "  \t"]
TEXTS = ["", "", "a", "b", " ", "  ", "\t", " a #"]

marks = st.sampled_from(MARKS)
shaped_lines = st.builds(
    "{}{}{}{}".format, st.sampled_from(INDENTS), marks, st.one_of(st.just(""), marks), st.sampled_from(TEXTS)
)
lines = st.one_of(st.sampled_from(["", "", "  ", "\t", "a", "  a", "- a", "  - a", "    - a", "1. a"]), shaped_lines)
notes = st.lists(lines, max_size=14).map("\n".join)
line_ends = st.sampled_from(["\n", "\n", "\r\n", "\r"])
