"""Detects standing rules for the bot, and checks whether the owner said them.

A tool call may carry the words of a mail or a web page. So the bot writes a rule from a tool call
only when a recorded turn of the owner says the same sentence. The tables are heuristics: a wrong
guess costs one tick in INBOX.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from hashlib import sha256

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.context.prompt_injection import HIDDEN, shaped_like_instruction
from vault_memory.rules.context.rule_archive import is_archive
from vault_memory.rules.conversations.quotation_marks import HIDDEN as QUOTED
from vault_memory.rules.conversations.quotation_marks import unquoted
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove
from vault_memory.rules.paths.skeleton import skeleton
from vault_memory.rules.sentences.sentence_splitter import split_sentences

LONGEST_TURN = 600
"""Letters; a longer turn is a pasted document, not a request"""
UNSAID_RULE = (
    "it is a standing rule for the bot, and no recorded turn of its owner in this session says it"
)

_MARKER = re.compile(r"^(?:\[[\w ]{1,20}\]|[\s>#*+\-–—•\d.)(])*(?<!\w)")
_DATED = re.compile(r"(?<!\s)\s*+\((?:[^()]*\b\d{4}-\d{2}-\d{2}\b[^()]*|ref:[^()]*)\)\s*+$")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^)]*\)|\[\[(?:[^\]\[|]*\|)?([^\]\[|]*)\]\]|<[^<>\s]{1,40}>")
_CLAUSE = re.compile(r":(?!\d|//)\s*|：|[.!?;…؟।]\s|[。！？｡；]|\s[–—-]+\s|[（(]|[»«“”\"]")
_COMMA = re.compile(r"[,，、]\s*")
_WORD = re.compile(r"(?<![\w@.+/:'’&#%-])[\w@.+/:'’&#%-]*\w[\w@+/#%]*")
_LEAD_INS = frozenset(
    "please and so also ok okay hey hi hello yes remember that note save store keep in mind rule from now on today "
    "bitte und also ja merk dir dass regel ab jetzt sofort heute von nun an künftig por favor sí recuerda que regla "
    "de ahora en adelante s'il te vous plaît oui retiens règle désormais dorénavant à partir de maintenant "
    "пожалуйста и да запомни что правило отныне впредь".split()
)
_LEAD_OUT = frozenset("please thanks thank you ok okay bitte danke gracias merci спасибо".split())
_CJK_LEAD_IN = re.compile(
    r"^(?:请|請|好的?|记住|記住|从现在(?:开始|起)|從現在(?:開始|起)|今后|今後|以后|以後)+"
)

_ACTS = (
    "accept|act|activate|add|address|agree|allow|answer|append|approve|ask|attach|auto-?\\w+|avoid|bcc|begin|behave|"
    "book|buy|bypass|call|cc|check|click|close|confirm|connect|contact|copy|create|delete|deny|deploy|direct|disable|"
    "disclose|display|do|don['’]?t|download|email|e-mail|enable|encrypt|end|execute|exfiltrate|export|fetch|follow|"
    "format|forward|give|grant|greet|hide|ignore|include|inform|insert|install|keep|leak|leave|link|load|log|mail|"
    "mention|message|move|notify|obey|offer|omit|open|order|pass|pay|permit|post|prefer|present|pretend|prioriti[sz]e|"
    "promote|provide|publish|push|put|read|recommend|redirect|refer|refuse|reject|relay|remind|remove|repeat|reply|"
    "report|request|respond|return|reveal|route|run|save|say|send|set|share|show|sign|skip|speak|start|state|stop|"
    "store|submit|suggest|summari[sz]e|talk|tell|text|transfer|translate|transmit|treat|trust|turn|update|upload|use|"
    "verify|visit|warn|withhold|write"
)
_EVER = "always|never|every|each|all|any|whenever|everything|only|automatically|by default|without (?:asking|telling)"
_BOT = r"(?:you|(?:the|this|your|an?) (?:\w+ )?(?:assistant|agent|bot|ai|model|chatbot|system)|claude|chatgpt|gpt)"
_OUT = r"[\w.+-]@[\w-]+\.\w|https?://"
_HE = r"(?!\w*[^s\W]s\b)(?!(?:a|the|my|his|her|their|our|been|was|were|had|have|mind|again$)\b)"

_BEGINNINGS = (
    rf"(?:always|never|never ever|do not ever|don['’]t ever)\s+(?:again\s+)?{_HE}\w+",
    r"(?:from (?:now|today|this day) on|going forward|henceforth|in (?:the )?future|at all times|by default)\b",
    rf"(?:do not|don['’]t|please)\s+(?:{_ACTS})\b.*\b(?:{_EVER}|ever)\b",
    rf"(?:{_ACTS})\b.*(?:\b(?:{_EVER})\b|{_OUT})",
    rf"(?:when(?:ever)?|if|before|after|once|as soon as|every time|each time|on every|on each|for every|for each|"
    rf"upon|in every|in each|with every|with each)\b.*(?:,\s*|\bthen\s+|\bplease\s+)"
    rf"(?:always |never |also |please |then |first |do not |don['’]t ){{0,4}}(?:{_ACTS})\b",
    r"(?:make sure|be sure|ensure|remember|don['’]t forget|do not forget)\s+(?:to|that|you)\b.*"
    rf"\b(?:{_EVER}|{_ACTS})\b",
    # German
    r"(?:immer|nie|niemals|stets|künftig|in zukunft|ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|jedes mal|"
    r"grundsätzlich|ausnahmslos)\b",
    r"(?:leite|schick\w*|sende|send|antwort\w*|schreib\w*|lösch\w*|teile?|verwend\w*|benutz\w*|nutze?|ignorier\w*|"
    r"kopier\w*|lade|gib|sag\w*|frag\w*|führe?|öffne|zeig\w*|füge?|vermeid\w*|nenn\w*|empfiehl|empfehle)\b"
    rf".*(?:\b(?:immer|stets|nie|niemals|alle[ns]?|jede[nmrs]?|ausschließlich|nur)\b|{_OUT})",
    # French, Spanish, Portuguese, Italian
    r"(?:toujours|jamais|désormais|dorénavant|à partir de maintenant|à l['’]avenir|chaque fois|"
    r"ne \w+ (?:plus )?jamais)\b",
    r"(?:siempre|nunca|jamás|en adelante|(?:de|a partir de) ahora|cada vez)\b",
    r"(?:sempre|nunca|jamais|de agora em diante|a partir de agora|cada vez|toda vez)\b",
    r"(?:sempre|mai|d['’]ora in (?:poi|avanti)|ogni volta|non \w+ mai)\b",
    r"(?:transf[eéè]r\w*|env[íio]\w+|reenv\w+|reenc\w+|renv\w+|encaminh\w+|inoltr\w+|invi\w+|répond\w*|respond\w*|"
    r"rispond\w*|partag\w*|compart\w*|condivid\w*|supprim\w*|borr\w*|elimin\w*|apag\w*|ignor\w*|utilis\w*|us[aeo]\w*)\b"
    rf".*(?:\b(?:tou(?:s|tes|jours)|chaque|jamais|tod[ao]s|cada|siempre|nunca|sempre|tutt[ie]|ogni|mai)\b|{_OUT})",
    # Dutch, Swedish, Danish, Norwegian, Polish
    r"(?:altijd|nooit|voortaan|vanaf nu|elke keer)\b",
    r"(?:stuur|antwoord|gebruik|verwijder|negeer|deel|schrijf|zeg|skicka|svara|använd|send|svar|brug|wyślij|wysyłaj|"
    r"odpowiadaj|używaj|usuń|usuwaj)\b.*"
    rf"(?:\b(?:altijd|nooit|alle|alles|elke|alltid|aldrig|alla|altid|zawsze|nigdy|wszystkie|każd\w+)\b|{_OUT})",
    r"(?:alltid|aldrig|från och med nu|hädanefter|altid|aldri|fra nu af|fra nå av|hver gang|varje gång)\b",
    r"(?:zawsze|nigdy|od teraz|odtąd|za każdym razem)\b",
    # Russian, Ukrainian
    r"(?:всегда|никогда|отныне|впредь|с этого момента|с сегодняшнего дня|каждый раз|завжди|ніколи|відтепер)\b",
    r"(?:пересылай|перешли|отправляй|отвечай|удаляй|игнорируй|используй|пиши|говори)\w*\b"
    r".*\b(?:все|всю|всех|каж\w+|всегда|никогда)\b",
    # Turkish, Arabic, Hindi
    r"(?:her zaman|daima|asla|bundan sonra)\b|(?:دائما|دائمًا|أبدا|أبدًا|من الآن)|(?:हमेशा|कभी|अब से)",
    # Chinese, Japanese, Korean
    r"(?:请|請)?(?:总是|總是|始终|始終|永远|永遠|务必|務必|一律|每次|每当|每當|凡是|从现在|從現在|从今|從今|今后|今後|"
    r"以后都|以後都|绝不|絕不|切勿|不要再)",
    r"[请請]?[把将將](?:所有|全部|每)",
    r"(?:常に|必ず|いつも|決して|絶対に|毎回|今後|これから|以後)",
    r"(?:항상|언제나|반드시|절대|앞으로|매번|늘)\s?",
)
_ANYWHERE = (
    rf"\b{_BOT} (?:must|should|shall|ought to|(?:have|has|need|needs) to|(?:are|is) (?:to|required|expected|allowed|"
    r"authori[sz]ed|supposed)\b|may (?:not|never)|can(?:not|['’]t| never| only)|will (?:always|never)|always|never)\b",
    r"\b(?:it is|it['’]s) (?:required|mandatory|forbidden|compulsory|the rule) (?:to|that)\b",
    r"\b(?:must|should|shall|has to|have to) (?:always|never) be (?:\w+ed|sent|told|given|shown|kept|hidden|read)\b",
    r"\b(?:mails?|e-?mails?|messages?|repl(?:y|ies)|answers?|responses?|requests?|passwords?|files?|documents?)\b"
    r".*\b(?:must|should|shall|(?:are|is) to|have to|has to|need to|needs to) (?:always |never |also |not )?be\b",
    r"\b(?:du|der assistent|der bot|die ki) (?:musst|sollst|darfst|muss|soll|darf)\b",
    r"\b(?:tu dois|vous devez|l['’]assistant doit|debes|el asistente debe|deves|o assistente deve|devi|"
    r"l['’]assistente deve|je moet|de assistent moet|du (?:måste|ska|skal|må))\b",
    r"\b(?:ты (?:должен|должна|обязан)|ассистент должен|бот должен|musisz|asystent musi)\b",
    r"(?:你|您|助手|机器人|機器人|助理)(?:必须|必須|应该|應該|應当|不得|不要|不能|要|须)",
    r"(?:あなたは|アシスタントは|ボットは).*(?:なければ|べき|てください|すること)",
    r"(?:してください|しなさい|すること)[。.]?$",
    r"(?:당신은|너는|비서는|봇은).*(?:해야|하라|마라)|(?:하세요|하십시오|하라)[.]?$",
)
_AFTER_COMMA = rf"(?:always|never|please)\s+(?:{_ACTS})\b|(?:{_ACTS})\b.*(?:\b(?:always|every|all|each)\b|{_OUT})"
_RULES_HEADING = (
    r"\b(?:(?:standing )?(?:rules?|orders?|instructions?|guidelines?|directives?|polic(?:y|ies))|system prompt|"
    r"how (?:you|the (?:bot|assistant)) (?:should|must|shall)|behaviou?r|asked for|"
    r"regeln?|anweisung(?:en)?|vorgaben?|règles?|consignes?|instructions?|directives?|"
    r"reglas?|instrucci(?:ón|ones)|regras?|instruç(?:ão|ões)|regol[ae]|istruzion[ei]|direttiv[ae]|"
    r"regels?|instructies|reg(?:ler|el)|instruktion(?:er|en)?|zasady|instrukcje|правила|инструкции|указания)\b|"
    r"规则|規則|指令|指示|ルール|규칙|지시"
)


def reads_like_rule(text: str) -> bool:
    """Returns whether a text tells the bot what to do, once or always, in any look-alike letters."""
    if shaped_like_instruction(text):
        return True
    plain = _plain(text)
    if _reads_like_rule(plain):
        return True
    if text.isascii():
        return False
    # A Cyrillic or a mathematical letter may look like a Latin one.
    look_alike = "\n".join(map(skeleton, plain.splitlines()))
    return _reads_like_rule(look_alike)


def _reads_like_rule(plain: str) -> bool:
    if _anywhere().search(plain):
        return True
    for sentence in split_sentences(plain):
        clauses = [sentence, *_CLAUSE.split(sentence)]
        if any(_begins_as_rule(clause) for clause in clauses):
            return True
        after_commas = _COMMA.split(sentence)[1:]
        if any(map(_after_comma().match, after_commas)):
            return True
    return False


def is_rules_heading(heading: str) -> bool:
    """Returns whether a heading names a section of rules for the bot."""
    return _rules_heading().search(_plain(heading)) is not None


def sentence_keys(turn: str) -> frozenset[str]:
    """Returns keys of the sentences that the owner says in a turn in their own name.

    Quotations, text after a line break or a colon, and questions do not count: they are words of
    others, or no requests.
    """
    keys: set[str] = set()
    for sentence in map(unquoted, _plain_sentences(_own_line(turn))):
        head, colon, tail = _split_at_colon(sentence)
        # The text after "please save:" is pasted or cited.
        if colon and _words(head):
            break
        spoken = tail if colon else head
        has_quotation = QUOTED in spoken
        is_question = spoken.rstrip().endswith(("?", "？", "؟"))
        if not has_quotation and not is_question:
            keys.add(_key(spoken))
    return frozenset(key for key in keys if key)


def _own_line(turn: str) -> str:
    """Returns the first line of a turn; empty when the turn is pasted or quoted."""
    # A long turn is a pasted document.
    if len(turn) > LONGEST_TURN:
        return ""
    lines = [line for line in turn.strip().splitlines() if line.strip()]
    if not lines or lines[0].lstrip().startswith(">"):
        return ""
    return lines[0]


def was_said(line: str, keys: Collection[str]) -> bool:
    """Returns whether the owner said each sentence of a line."""
    line_keys = [_key(sentence) for sentence in _plain_sentences(line)]
    return bool(line_keys) and all(key in keys for key in line_keys)


def keys_of(turns: Iterable[str]) -> tuple[str, ...]:
    """Returns the keys of all sentences of these turns, sorted."""
    return tuple(sorted(frozenset().union(*map(sentence_keys, turns))))


def _begins_as_rule(clause: str) -> bool:
    words = clause.split()
    for start in range(len(words) + 1):
        if _beginnings().match(" ".join(words[start:])):
            return True
        if start == len(words) or _bare(words[start]) not in _LEAD_INS:
            return False
    return False


def _plain(text: str) -> str:
    """Returns folded text without markers, emphasis, invisible letters and metadata at its end."""
    text = _LINK.sub(lambda link: link[1] or link[2] or "", html.unescape(text))
    text = unicodedata.normalize("NFKC", HIDDEN.sub("", text))
    # The Turkish dotted and dotless i would hide a word such as "ignore".
    text = text.replace("\u0130", "i").replace("\u0131", "i")
    rows = map(_plain_row, text.splitlines())
    return _DATED.sub("", "\n".join(rows)).casefold()


def _plain_row(row: str) -> str:
    words = re.sub(r"[*_~`|]+", " ", row).split()
    return _MARKER.sub("", " ".join(words))


def _plain_sentences(text: str) -> list[str]:
    # Capital letters tell whether a sentence goes on after an abbreviation.
    return list(filter(None, map(_plain, split_sentences(text))))


def _split_at_colon(sentence: str) -> tuple[str, str, str]:
    # The colon of a time or a link does not count.
    colon = re.search(r":(?!\d|//)|：", sentence)
    if colon is None:
        return sentence, "", ""
    return sentence[: colon.start()], ":", sentence[colon.end() :]


def _words(text: str) -> list[str]:
    """Returns the words of a sentence without polite words at its beginning and end."""
    words = list(filter(None, map(_bare, _WORD.findall(text))))
    while words and words[0] in _LEAD_INS:
        words.pop(0)
    while words and words[-1] in _LEAD_OUT:
        words.pop()
    if words:
        words[0] = _CJK_LEAD_IN.sub("", words[0])
    return [word for word in words if word]


def _bare(word: str) -> str:
    return word.strip(".,;:!?…'’\"()-/").replace("’", "'")


def _key(sentence: str) -> str:
    """Returns a hash of a sentence; ``""`` for a sentence without words."""
    words = _words(sentence)
    if not words:
        return ""
    # The journal keeps keys, and must not keep the words of a conversation.
    return sha256(" ".join(words).encode("utf-8", "replace")).hexdigest()[:16]


# Compiled on first use: a process that only searches would pay for them at its start.
@cache
def _beginnings() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in _BEGINNINGS), re.DOTALL)


@cache
def _anywhere() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in _ANYWHERE), re.MULTILINE)


@cache
def _after_comma() -> re.Pattern[str]:
    return re.compile(_AFTER_COMMA)


@cache
def _rules_heading() -> re.Pattern[str]:
    return re.compile(_RULES_HEADING)


MOST_ACTIVE = 20
"""Rules that hold at a time; beyond it, the oldest learned rules move to the archive"""


def active_rules(doc: SectionedDoc) -> list[NoteItem]:
    """Returns the rules that hold, in the order of the note. Nested items belong to their rule."""
    return [item for item in items_of(doc) if item.depth == 1 and not is_archive(item.heading)]


def surplus_rules(doc: SectionedDoc) -> list[NoteItem]:
    """Returns the rules that should move to the archive, the oldest first.

    Only rules with a date move, because a person wrote the others by hand. The newest rule always
    stays, with the others of its turn. So does a rule with nested items, because the archive keeps
    one line per rule.
    """
    active = active_rules(doc)
    dated = sorted((item for item in active if parse_item(item.text).date), key=_age)
    if not dated:
        return []
    # Fault: a rule would push out another one that was said in the same breath.
    newest = parse_item(dated[-1].text).ref
    movable = [
        item
        for item in dated[:-1]
        if item.own_end == item.end and not (newest and parse_item(item.text).ref == newest)
    ]
    return movable[: max(0, len(active) - MOST_ACTIVE)]


def _age(item: NoteItem) -> tuple[object, int, int]:
    return parse_item(item.text).date, item.section, item.start


def archived_line(ops: Sequence[Op | None]) -> str:
    """Returns the rule that two ops, in either order, move to the archive, or ``""``."""
    match ops:
        case (Remove() as removal, addition) | (addition, Remove() as removal):
            line = _archived_by(addition)
        case _:
            return ""
    if is_archive(removal.heading) or folded_line(removal.match) != folded_line(line):
        return ""
    return line


def _archived_by(op: Op | None) -> str:
    """Returns the only line that an op adds to the archive, or ``""``."""
    match op:
        case Append(heading, line) if is_archive(heading):
            return line
        case AddHeading(heading, (line,)) if is_archive(heading):
            return line
        case _:
            return ""
