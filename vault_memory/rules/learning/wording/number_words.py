"""Numbers up to twelve as words, in the languages of the phrase tables."""

_SPELLINGS = (
    "zero null cero zéro ноль 零 〇",
    "one ein eine einen einem einer eins uno una un une один одну одна 一",
    "two zwei dos deux два две 二 两 兩",
    "three drei tres trois три 三",
    "four vier cuatro quatre четыре 四",
    "five fünf cinco cinq пять 五",
    "six sechs seis шесть 六",
    "seven sieben siete sept семь 七",
    "eight acht ocho huit восемь 八",
    "nine neun nueve neuf девять 九",
    "ten zehn diez dix десять 十",
    "eleven elf once onze одиннадцать 十一",
    "twelve zwölf doce douze двенадцать 十二",
)
NUMBER_WORDS: dict[str, int] = {
    word: number for number, line in enumerate(_SPELLINGS) for word in line.split()
}
