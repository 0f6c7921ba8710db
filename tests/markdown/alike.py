"""Pairs of texts that are one for the eye, and pairs that only resemble one another."""

import unicodedata

NFD = "NFD"

ALIKE = [
    ("Zoë trinkt Kräutertee", unicodedata.normalize(NFD, "Zoë trinkt Kräutertee")),
    ("한글 배우기", unicodedata.normalize(NFD, "한글 배우기")),
    ("Tiếng Việt học", unicodedata.normalize(NFD, "Tiếng Việt học")),
    ("Donaudampfschiff fährt", "Donau\u00addampf\u00adschiff fährt"),
    ("copied headline", "copied head\u200bline"),
    ("byte order mark", "\ufeffbyte order\u2060 mark"),
    ("directions of text", "\u202adirections\u202c of \u200etext\u200f"),
    ("office flowers fit", "o\ufb03ce \ufb02owers \ufb01t"),
    ("full width 2026", "ｆｕｌｌ　ｗｉｄｔｈ　２０２６"),
    ("ガラスの皿", "ｶﾞﾗｽの皿"),
    ("bold letters here", "𝐛𝐨𝐥𝐝 𝘭𝘦𝘵𝘵𝘦𝘳𝘴 here"),
    ("سلام دوستان", "ﺳﻼﻡ دوستان"),
    ("Anna's bike isn't blue", "Anna’s bike isn‘t blue"),
    ("об'єкт знайдено", "обʼєкт знайдено"),
    ('the "red" house', "the “red” house"),
    ('das "rote" Haus', "das „rote“ Haus"),
    ('la maison "rouge"', "la maison «rouge»"),
    ("paris - berlin by train", "paris – berlin by train"),
    ("wait - then call", "wait — then call"),
    ("ten kilometres away", "ten\u00a0kilometres\u202faway"),
    ("and so on...", "and so on…"),
    ("500 µm thick", "500 μm thick"),
    ("Kelvin 300 K", "Kelvin 300 \u212a"),
    ("chapter IV begins", "chapter Ⅳ begins"),
    ("क्ष अक्षर", "क्\u200dष अक्षर"),
    ("می‌خواهم بروم", "میخواهم بروم"),
    ("ภาษาไทยทำงาน", "ภาษาไทยทํางาน"),
    ("sun ☀ today", "sun ☀\ufe0f today"),
    ("Anna likes tea", "[[Anna Keller|Anna]] likes tea"),
    ("Berta likes tea", "[[Berta]] likes tea"),
    ("manual of the boiler", "[manual](https://example.org/a_(b)) of the boiler"),
    ("carrots one two", "carrots **one** two"),
    ("carrots three four", "carrots _three_ four"),
    ("carrots five six", "carrots `five` six"),
    ("carrots seven eight", "carrots ==seven== eight"),
    ("carrots nine ten", "carrots ***nine*** <b>ten</b>"),
    ("unlikely weather", "**un**likely weather"),
    ("Müller & Söhne", "M&uuml;ller &amp; Söhne"),
    ("a star* of five", r"a star\* of five"),
    ("see https://example.org/x", "see <https://example.org/x>"),
]
"""Two spellings of one text; each is found by the other"""

DIFFERENT = [
    ("schon gesehen", "schön gesehen"),
    ("Lodz im Mai", "Łódź im Mai"),
    ("10² Meter", "102 Meter"),
    ("2*3 is six", "23 is six"),
    ("List<String> of names", "List<Integer> of names"),
    ("e-mail to Mia 3-4", "e-mail to Mia 34"),
    ("snake_case_name", "snakecasename"),
    ("~5 people", "5 people"),
    ("call 👩‍💻 now", "call 👩💻 now"),
    ("flag 🏴󠁧󠁢󠁥󠁮󠁧󠁿 up", "flag 🏴󠁧󠁢󠁳󠁣󠁴󠁿 up"),
    ("[report](may.pdf)", "[report](june.pdf)"),
    ("![](may.png)", "![](june.png)"),
    ("use `a*b*c`", "use abc"),
    ("~~Lives in Rome~~", "Lives in Rome"),
]
"""Texts of which each is worth a line of its own"""
