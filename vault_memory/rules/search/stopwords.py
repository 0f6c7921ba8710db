"""Words of languages for search: stop-words, words of time, and words that ask when and how many.

Search works for any language; without a table its common words are not left out.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pkgutil import get_data
from typing import Any

STOP_WORDS: dict[str, str] = {
    "en": """a about above after again all also am an and any are aren as at be because been before being below between
        both but by can cannot could couldn d did didn do does doesn doing don down during each else ever few for from
        further get give go goes going got had has hasn have haven having he her here hers herself him himself his how
        i if in into is isn it its itself just kind let like ll m many may me might more most much must my myself no
        nor not now of off on once only or other our ours out over own please re s same shall she should shouldn so
        some such t tell than that the their theirs them themselves then there these they this those through to too
        type under until up upon us ve very was wasn we were weren what when where which while who whom whose why will
        with won would wouldn you your yours yourself""",
    "de": """ab aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist da
        dabei damit dann das dass daß dem den denn der des dessen deren die dies diese diesem diesen dieser dieses doch
        dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen gibt hab habe haben hat hatte
        hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jetzt
        kann kannst kein keine können könnte man mein meine meinem meinen meiner mich mir mit muss nach nicht noch nun
        nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so soll sollte sondern über um und uns
        unser unsere unter viel viele vom von vor wann war waren warum was weil welche welchem welchen welcher welches
        wem wen wenn wer werde werden wessen wie wieder wieviel will wir wird wo wofür woher wohin womit wurde wurden
        zu zum zur zwischen""",
    "fr": """à afin ai ainsi alors as au aucun aussi autre aux avait avec avez avoir avons c ça car ce ceci cela celle
        celles celui ces cet cette ceux chez ci combien comme comment d dans de depuis des dont du elle elles en encore
        entre es est et étaient était être eu eux fait faire furent fut il ils j je l la laquelle le lequel les leur
        leurs lors lui m ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas pendant peu peut plus
        pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous sur t ta te
        tes toi ton tous tout toute toutes très tu un une vers vos votre vous y""",
    "es": """a al algo algunos ante antes aquel como cómo con contra cual cuál cuáles cuando cuándo cuánta cuántas
        cuánto cuántos de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran es esa esas ese
        eso esos esta está estaba estado están estas este esto estos fue fueron ha había han hasta hay la las le les lo
        los más me mi mí mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque qué que quien
        quién quiénes se sea ser si sí sido sin sobre son su sus también tan tanto te tiene tienen todo todos tu tú tus
        un una uno unos y ya yo""",
    "pt": """a ao aos aquela aquele as até com como da das de dela dele deles depois do dos e é ela elas ele eles em
        entre era eram essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na
        nas não nem no nos nós o os ou para pela pelas pelo pelos por porque qual quais quando quanto quantos quantas
        que quem se sem ser seu seus só sua suas também te tem têm tinha um uma você vocês onde""",
    "it": """a ad ai al alla alle allo anche avere aveva c che chi ci come con cosa cui d da dal dalla dalle degli dei
        del della delle dello di dove e è ed era erano essere fu gli ha hai hanno ho i il in io l la le lei lo loro lui
        ma mi mia mio ne nei nel nella nelle noi non o per perché più qual quale quali quando quanta quante quanti
        quanto quella quello questa questo se sei si sia sono su sua sul sulla suo ti tra tu un una uno vi voi""",
    "nl": """aan al alle als bij dan dat de den der deze die dit doch doen door dus een en er geen had hadden heb hebben
        heeft hem het hij hoe hoeveel hun ik in is ja je jij kan kon kunnen maar me meer men met mij mijn moet na naar
        niet nog nu of om omdat onder ons ook op over te toen tot u uit van veel voor waar waarom wanneer waren was wat
        we wel welk welke werd wie wij worden wordt zal ze zich zij zijn zo zou""",
    "sv": """alla allt att av blev bli blir den denna där de dem den det detta dig din du då efter ej eller en er ett
        från för ha hade han har henne hennes hon honom hos hur här i icke inte ja jag kan kunde man med men mig min
        mot mycket ni nu när någon något och om oss på samma sedan sig sin som till under upp ut utan vad var varför
        vara varit vem vi vid vilka vilken vilket är över""",
    "pl": """a aby ale albo bo być był była było były by co czy dla do gdy gdzie go i ich ile im ja jak jaka jaki jakie
        jako jego jej jest jeszcze już każdy kiedy kogo kto która które którego której którzy który lub ma mają mi mnie
        może moja mój na nad nam nas nie niż o od on ona one oni ono oraz po pod przez przy są się ta tak także tam te
        tego tej ten to tu tylko tym ty w we wiele więc z za ze że""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее
        если есть еще же за и из или им их к как какая какие какого какой какова каковы каком какую ко когда кого кому
        которая которого которой которые который кто куда ли мне много мой моя мы на над не него нее нет ни них но ну о
        об один он она они оно от очень по под почему при с сколько со так также такой там те тем то того тоже той
        только том ты у уже чего чей чем через что чтобы чье эта эти это этого этой этом этот я является""",
    "uk": """а або але без був була були було бути в вам вас ви він вона вони все від де для до є же за з зі і із й його
        її їх коли кого кому котрий ми на не ні о один про скільки та так там те то той тому ти у хто це цей ця чи чому
        що щоб як яка яке який які якого якої""",
    "tr": """acaba ama ancak arasında az bana ben beni benim bir biri bu bunu bunun da daha de değil diye dolayı en
        gibi göre hangi hangisi hem hep her için ile ise kaç kadar kez ki kim kimdi kime kimin mi mı mu mü nasıl ne
        neden nedir neler nelerdi nerede nereye niçin niye o olan olarak olduğu olduğunu oldu olur on ona onlar onu onun
        sen siz sonra şey şu tarafından üzerinde var vardı ve veya ya yani yok zaman""",
    "vi": """ai anh bao bị bởi các cái cả cho chưa có của cũng cùng do đã đang đâu đây để đến đều đi điều đó được gì hay
        hơn hoặc khi không là lại làm lên loại mà mình một nào này nên nếu nhất như nhiêu những nó nơi ở phải qua ra
        rằng rất sao sau sẽ số tại theo thì thế trên trong trước từ tôi và vẫn về với vào vì việc""",
    "id": """ada adalah agar akan aku anda apa apakah atau bagaimana bagi bahwa banyak beberapa berapa bisa dalam dan
        dapat dari dengan di dia untuk hanya harus hingga ia ini itu jika juga kami kamu kapan karena ke kepada kita
        lagi lain lebih mana mengapa mereka oleh pada para saat saja sangat saya sebagai secara seperti siapa sudah
        telah tentang tersebut tidak yang""",
    "ro": """a acest această ai al ale am ar are au avea ca care cât câte câți că ce cel cine cu cum când dar de deși din
        după ea ei el ele este eu fi fost i iar îl în între la le lor lui mai mult ne nu o pe pentru prin sa sau să se
        si și sunt său te un una unde unei unui va""",
    "el": """αν από αυτά αυτή αυτό αυτός για δεν είναι ένα ένας έχει έχουν η ήταν θα και κατά με μετά μια μου να ο οι
        όπως όταν ότι που πού πόσα πόσες πόσο πόσοι ποια ποιες ποιο ποιοι ποιος πότε πριν προς πως πώς σε στα στη στην
        στις στο στον στους τα την της τι τις το τον του τους των ως""",
    "ar": """أن أو أي أين إلى إن التي الذي الذين ال الى ان او اي ب بعد بين تلك تم ثم حتى حيث خلال ذلك عدد على عن عند عندما في
        قبل قد كان كانت كل كم كما كيف لا لقد لم لماذا لن له لها ما ماذا متى مع من منذ هذا هذه هل هم هو هي و وقد يكون
        اسم""",
    "hi": """अपनी अपने आप इन इस इसके इसने उन उनका उनकी उनके उस उसका उसकी उसके उसने एक एवं ऐसे और क कब कहा कहाँ कहां का किन किया
        किस किसका किसकी किसके किसने किसी की कुछ के को कौन क्या क्यों कर करता करते करने करना गई गए गया चाहिए जब जहां जा जाता जाती जाते
        जाने जिस जो तक तब तथा तो था थी थे दिया द्वारा ने नहीं पर फिर बाद भी में मे यदि यह यहां या ये रहा रहे लिए लेकिन वह वहां वाला
        वाली वाले वे व सकता सकते से हुआ हुई हुए है हैं हो होता होती होते होना कैसे कितना कितनी कितने कौनसा कौनसी""",
    "zh": """什么 哪些 哪个 哪里 哪儿 哪一 哪种 怎么 怎样 如何 为什么 为何 多少 是谁 是否 何时 时候 一个 这个 那个 这些 那些 我们 你们 他们
        她们 它们 可以 因为 所以 但是 如果 没有 以及 或者 并且 而且 的 了 是 在 和 与 吗 呢 被 把 有""",
    "ja": """です ます した して いる いた ある あった する から まで など どの どこ だれ 誰が 何が 何を なに なぜ いつ どう どれ
        これ それ あれ この その あの こと もの という として による において のか のは には では とは は が を に の と も で へ や か""",
    "ko": """무엇 무엇을 무엇이 누구 누가 언제 어디 어디서 어떤 어떻게 왜 얼마나 몇 그리고 그러나 하지만 있는 있다 하는 했다 입니까
        인가 인가요 합니까 했습니까 했나요 것은 것이 것을 에서 으로""",
    "th": """อะไร อย่างไร เมื่อไร เมื่อไหร่ เมื่อใด ที่ไหน ที่ใด ใคร ใด ไหน ทำไม กี่ เท่าไร เท่าไหร่ เป็น และ หรือ ของ ใน ที่ ซึ่ง
        โดย ได้ จาก ให้ ว่า กับ มี คือ การ ความ นี้ นั้น ไม่""",
}
"""By language, words that a question is worded with and that answers do not turn on"""

WHEN = """
    when | what (date|day|month|year|time) | which (date|day|month|year) | how long ago | since when
    wann | seit wann | welche[nmrs]? (datum|tag|monat|jahr) | quand | quelle (date|année) | quel (jour|mois) | en quelle année
    cuándo | cuando | qué (fecha|día|mes|año) | en qué año | quando | que (dia|ano|mês) | che (giorno|anno) | in che anno
    wanneer | när | kiedy | когда | в каком году | какого числа | коли | ne zaman | hangi (yıl|gün|ay)\\w* | khi nào | năm nào
    bao giờ | kapan | când | πότε | متى | في أي عام | कब | किस (वर्ष|साल|दिन)
    什么时候 | 何时 | 哪一?年 | 哪一?天 | 几号 | いつ | 何年 | 何日 | 何月 | 언제 | 몇 ?년 | เมื่อไร | เมื่อไหร่ | เมื่อใด | ปีใด | ปีไหน
"""
"""What asks for a time, parted by ``|``; patterns for whole words"""

HOW_MANY = """
    how (many|much|long|old|often|far|tall|big|large) | what (number|percentage|price) | wie ?viele? | wie (lange|alt|oft|hoch|weit)
    combien | quel âge | cuánt[oa]s? | quant[oaie]s? | quanti | hoeveel | hur (många|mycket|länge) | ile | сколько | скільки | kaç
    ne kadar | bao nhiêu | mấy | berapa | cât[eă]? | câți | πόσ\\w+ | كم | कितन[ाीे] | 多少 | 几[个次位年天岁] | 多[久长大高] | いくつ | いくら
    何[人個回歳] | 얼마 | 몇 | กี่ | เท่าไร | เท่าไหร่ | เท่าใด
"""
"""What asks for a number"""

TIME_WORDS = """
    yesterday today tonight tomorrow ago last next week weeks weekend month months year years recently lately soon
    monday tuesday wednesday thursday friday saturday sunday morning evening
    gestern heute morgen übermorgen vorgestern letzte letzten letztes letzter nächste nächsten nächster woche wochen wochenende
    monat monate monaten jahr jahre jahren neulich kürzlich montag dienstag mittwoch donnerstag freitag samstag sonntag
    hier aujourd demain dernier dernière prochain prochaine semaine mois année lundi mardi mercredi jeudi vendredi samedi dimanche
    ayer hoy mañana anoche semana semanas mes meses año años próximo próxima pasado pasada lunes martes miércoles jueves viernes
    ontem hoje amanhã mês ano anos passada ieri oggi domani settimana mese anno scorso scorsa prossimo prossima
    gisteren vandaag morgen vorige volgende week maand jaar igår idag imorgon vecka månad år wczoraj dziś jutro tydzień miesiąc rok
    вчера сегодня завтра позавчера назад прошлый прошлой прошлом следующий следующей неделя неделю неделе месяц месяца год года лет
    вчора сьогодні завтра тому тижня тиждень місяць рік dün bugün yarın hafta geçen gelecek ay yıl önce
    qua tuần tháng năm ngày hôm mai kemarin hari besok minggu bulan tahun أمس اليوم غدا أسبوع شهر سنة
    आज कल परसों सप्ताह हफ्ते महीने साल पिछले अगले
"""
"""Words by which a text places itself in time; the names of months are added"""

TIME_PIECES = """
    昨天 今天 明天 前天 后天 上周 下周 上个 下个 去年 今年 明年 星期 周末 昨日 今日 明日 先週 来週 先月 来月 昨年 来年 어제 오늘 내일 지난 다음
    เมื่อวาน วันนี้ พรุ่งนี้ สัปดาห์ เดือน
"""
"""The same for scripts without spaces"""

MONTHS: tuple[str, ...] = (
    """january jan januar jänner janvier enero janeiro gennaio januari stycznia styczeń января январе январь січня ocak ianuarie
    ιανουαρίου يناير जनवरी มกราคม""",
    "february feb februar février febrero fevereiro febbraio februari lutego luty февраля феврале февраль лютого şubat februarie "
    "φεβρουαρίου فبراير फरवरी फ़रवरी กุมภาพันธ์",
    "march mar märz mars marzo março maart marca marzec марта марте март березня mart martie maret μαρτίου مارس मार्च มีนาคม",
    "april apr avril abril aprile kwietnia kwiecień апреля апреле апрель квітня nisan aprilie απριλίου أبريل अप्रैल เมษายน",
    "may mai mayo maio maggio mei maj maja мая мае май травня mayıs μαΐου مايو मई พฤษภาคม",
    "june jun juni juin junio junho giugno czerwca czerwiec июня июне июнь червня haziran iunie ιουνίου يونيو जून มิถุนายน",
    "july jul juli juillet julio julho luglio lipca lipiec июля июле июль липня temmuz iulie ιουλίου يوليو जुलाई กรกฎาคม",
    "august aug août agosto augustus augusti sierpnia sierpień августа августе август серпня ağustos agustus αυγούστου أغسطس अगस्त สิงหาคม",
    "september sep sept septembre septiembre setembro settembre września wrzesień сентября сентябре сентябрь вересня eylül septembrie "
    "σεπτεμβρίου سبتمبر सितंबर सितम्बर กันยายน",
    "october oct oktober octobre octubre outubro ottobre października październik октября октябре октябрь жовтня ekim octombrie "
    "οκτωβρίου أكتوبر अक्टूबर ตุลาคม",
    "november nov novembre noviembre novembro listopada listopad ноября ноябре ноябрь kasım noiembrie νοεμβρίου نوفمبر नवंबर พฤศจิกายน",
    "december dec dezember décembre diciembre dezembro dicembre grudnia grudzień декабря декабре декабрь грудня aralık decembrie desember "
    "δεκεμβρίου ديسمبر दिसंबर ธันวาคม",
)
"""The names of the months, January first"""
MONTH_NUMBERS: dict[str, int] = {
    name: number for number, names in enumerate(MONTHS, start=1) for name in names.split()
}
"""The number of the month by each of its names"""

DAYS: dict[str, int] = {
    **dict.fromkeys(
        "yesterday gestern hier ayer ontem ieri gisteren igår wczoraj вчера вчора dün kemarin 昨天 昨日 어제".split(),
        -1,
    ),
    **dict.fromkeys(
        "today tonight heute aujourd'hui hoy hoje oggi vandaag idag dziś сегодня сьогодні bugün 今天 今日 오늘".split(),
        0,
    ),
    **dict.fromkeys(
        "tomorrow morgen demain mañana amanhã domani imorgon jutro завтра yarın besok 明天 明日 내일".split(),
        1,
    ),
    **dict.fromkeys("vorgestern anteayer avant-hier eergisteren позавчера 前天".split(), -2),
    **dict.fromkeys("übermorgen 后天".split(), 2),
}
"""Words that name a day by its distance from today"""

LAST = "last previous past letzte letzten letzter letztes vergangene vergangenen vorige vorigen dernier dernière pasada pasado".split()
NEXT = "next coming nächste nächsten nächster nächstes kommende kommenden prochain prochaine próxima próximo".split()
THIS = "this diese diesen diesem dieser dieses cette ce esta este".split()
WEEK = "week weekend woche wochenende semaine semana".split()
MONTH = "month monat mois mes".split()
YEAR = "year jahr année año".split()
PERIODS_IN_RUNS = {
    **dict.fromkeys("上周 上週 上个星期 上個星期 先週 지난주".split(), "last week"),
    **dict.fromkeys("这周 本周 本週 今週 이번주".split(), "this week"),
    **dict.fromkeys("上个月 上個月 上月 先月 지난달".split(), "last month"),
    **dict.fromkeys("这个月 這個月 本月 今月 이번달".split(), "this month"),
    **dict.fromkeys("去年 昨年 작년 지난해".split(), "last year"),
    **dict.fromkeys("今年 올해".split(), "this year"),
}
"""Periods in scripts without blanks, as English says them"""

EVENT_WORDS = """
    happened happen happens happening talk talked discuss discussed anything everything something news done say said
    passiert geschah geschehen gemacht besprochen gesprochen geredet unternommen los alles gesagt
    passé fait discuté parlé dit arrivé pasó pasado hice hicimos hizo hablamos hablado dicho dijo
    случилось произошло делал делала делали говорили обсуждали было 发生 生了 做了 聊了 说了
"""
"""Words of a question for all of a day, such as "what happened on 9 May" """
DATE_WORDS = """
    day days ago date tag tage tagen datum jour jours día días fecha дня день дней 天 号 monday tuesday wednesday thursday
    friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi
    samedi dimanche lunes martes miércoles jueves viernes sábado domingo понедельник вторник среда среду четверг пятница
    пятницу суббота субботу воскресенье evening abend soir noche вечером night nacht
"""
"""Further words that only name a day"""

NUMBER_WORDS = """
    two three four five six seven eight nine ten eleven twelve dozen twice thrice
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf deux trois quatre cinq sept huit neuf dix
    dos tres cuatro cinco siete ocho nueve diez due tre quattro sei sette otto nove dieci dois três quatro oito dez
    два две три четыре пять шесть семь восемь девять десять iki üç dört beş altı yedi sekiz dokuz
"""
"""Numbers as words"""

DIGITS = (
    "zero oh null nul zéro cero ноль нуль 零 〇",
    "one eins un une uno una один одна 一",
    "two zwei zwo deux dos два две 二 两",
    "three drei trois tres три 三",
    "four vier quatre cuatro четыре 四",
    "five fünf cinq cinco пять 五",
    "six sechs seis шесть 六",
    "seven sieben sept siete семь 七",
    "eight acht huit ocho восемь 八",
    "nine neun neuf nueve девять 九",
)
"""The names of the digits, zero first"""

ABOUT_WORDS = """
    work works working mean means explain tell show know use used funktioniert funktionieren bedeutet geht gehen erkläre
    weiß benutzt fonctionne fonctionnent signifie marche explique sais funciona funcionan significa explica sabes
    работает работают значит означает объясни
"""
"""Words of a question for all about a thing, such as "how do flashcards work" """

QUESTION_WORDS = """
    whats wheres whos whens whys hows
    what who whom whose which where when why how was wer wen wem wo wann warum wieso weshalb wie welche welcher welches
    wohin woher que qui quoi quel quelle quels quelles où quand pourquoi combien comment qué quién quiénes cuál cuáles
    cuándo dónde cómo cuánto cuánta cuántos cuántas quem qual quais quando onde quanto quantos quantas chi cosa quale
    quali dove perché come wat wie waar wanneer waarom hoe welk welke vad vem vilken vilket vilka när var varför hur co
    kto gdzie kiedy dlaczego jak jaki jaka jakie ile что кто где когда почему зачем как какой какая какое какие сколько
    куда откуда чей що хто де коли чому як який яка яке скільки куди ne kim nerede nereye niçin neden nasıl kaç hangi
    gì ai đâu apa siapa mana kapan mengapa bagaimana berapa ce cine unde când cum cât care τι ποιος ποια ποιο πού πότε
    γιατί πώς πόσο ما ماذا من أين متى لماذا كيف كم क्या कौन कहाँ कहां कब क्यों कैसे कितना कितने
"""
"""Words with which a question begins that has no question mark"""
ASKING_VERBS = """
    may shall do did am have kannst könntest können könnten darf hast gibt würdest könnt peux pouvez
    pourrais pourriez peut sais savez puedes podrías puede podría sabes sabe можешь можете можно
    умеешь знаешь знаете
"""
"""Verbs with which a question begins before `ASKED_PERSONS`; `do the bins` asks nothing"""
ASKED_PERSONS = """
    you i we he she they anyone du ich wir sie ihr man es tu vous je on nous decirme decirnos
    ayudarme buscar mirar darme ты вы мне ли нам
"""
"""Whom a question without a question mark asks about"""
ASKING_VERBS_OF_THINGS = """
    can could would will should does is are was were has
"""
"""Verbs with which a question begins, where a word of either list follows"""
ASKED_THINGS = """
    it there the my our your this that
"""
"""What a question without a question mark asks about"""
KEEPING = """
    remember note keep save store always never merken notieren behalten speichern immer nie niemals
    retenir noter garder rappeler toujours jamais recordar anotar apuntar guardar siempre nunca
    запомнить записать сохранить всегда никогда
"""
"""Words with which a person says something to keep, in the form of a request"""

ORDERS = """
    show tell give find write explain summarise summarize translate calculate convert compare describe suggest recommend
    rewrite rephrase proofread generate remind zeig zeige sag gib such schreib erklär erkläre übersetz übersetze fass prüf
    guck hilf vergleich vergleiche berechne nenn korrigier erinnere montre dis donne trouve écris explique résume traduis
    regarde vérifie aide compare calcule envoie raconte muéstrame dime dame búscame escríbeme explícame resume traduce
    hazme ayúdame cuéntame compara calcula recomiéndame recuérdame покажи покажите скажи скажите дай дайте найди найдите
    напиши напишите объясни объясните переведи переведите перечисли проверь проверьте посмотри помоги помогите сравни
    посчитай составь отправь расскажи расскажите придумай сделай
"""
"""Words with which an order to the bot begins, which states nothing"""
ORDERS_OF = """
    check look book plan list open help make draft order schedule search cancel send fix play create mach mache schick
    schau such suche schreibe liste buche plane fais cherche réserve busca escribe revisa haz reserva
"""
"""The same where one of `ORDER_OBJECTS` follows"""
ORDER_OBJECTS = """
    me us my our the a an this that these those all some up into for if whether mir uns mein meine meinen den die das ein
    eine einen bitte mal nach moi nous mon ma mes le la les un une me mi mis el los las una
"""
ORDERS_IN_RUNS = "帮我 请帮 给我 告诉我 查一下 翻译 列出 解释 总结 写一 找一"
"""The same in scripts without spaces"""
POLITE = "please bitte por favor svp пожалуйста hey ok okay and und et y и now so also just"
"""Words before an order"""

NO_ANSWER = """
    (?:do not|don't|dont) (?:\\w+ )?(?:know|remember|recall)
    | (?:do not|don't|dont) have (?:any |enough |that |this )*(?:information|memory|memories|record|records|notes?|details?|idea|knowledge|data)
    | have no (?:information|memory|memories|record|records|notes?|details?|idea|knowledge|data|clue)
    | no (?:idea|clue) | (?:i'm|i am) (?:not sure|not aware|unaware|unsure) | not sure
    | (?:could not|couldn't|cannot|can not|can't) (?:find|recall|remember|answer)
    | (?:there is|there's) (?:nothing|no information|no record|no note|no mention)
    | (?:haven't|have not|never|didn't|did not) (?:told|tell|mentioned|mention|said|shared|share)
    | nothing (?:was |is )?(?:found|known|recorded)
    | (?:let me|i'll|i will|i'm going to|allow me to) (?:just |quickly )?(?:look|check|see|search|find out|get back)(?![^:;]*[:;])
    | (?:one|just a|give me a) (?:moment|second|minute) | (?:lass|lassen sie) mich (?:das |es |kurz |mal )*(?:nachsehen|nachschauen|prüfen|schauen)
    | (?:ich )?(?:schaue?|sehe?) (?:ich )?(?:kurz |mal |gleich |das )*nach | (?:einen|ein) (?:moment|augenblick)
    | (?:laisse|laissez)-?(?: )?moi (?:vérifier|regarder|chercher|voir) | je (?:vais )?(?:vérifie|regarde|vérifier|regarder|chercher)
    | un (?:instant|moment|momento|segundo) | (?:déjame|déjeme|permíteme) (?:ver|revisar|buscar|comprobar|mirar)
    | voy a (?:revisar|buscar|comprobar|mirar) | (?:сейчас|давайте|дай) (?:я )?(?:посмотрю|проверю|поищу|узнаю)
    | (?:одну )?минут[уо]\\w* | (?:让我|我来|我去|我)(?:查|看|找)(?:一下|一查|看|找)? | 稍等 | 请稍候
    | weiss (?:ich )?(?:es |das |davon )?(?:leider )?nicht\\w* | weiss ich nicht | keine ahnung
    | (?:habe|finde) (?:ich )?(?:dazu |darüber |hierzu |leider )*(?:keine|nichts)(?: informationen| angaben| notizen)?
    | ist mir nicht bekannt | kann ich nicht (?:sagen|finden) | kann mich nicht erinnern
    | (?:ne )?sais pas | aucune idée | (?:n'ai|ai) (?:pas|aucune) (?:d'|de )?informations? | me souviens pas
    | no (?:lo )?sé | ni idea | no tengo (?:ni )?(?:idea|información|datos) | no (?:lo )?recuerdo
    | não sei | não faço ideia | não tenho (?:informações|informação|ideia) | não me lembro
    | non (?:lo )?so | non ho (?:idea|informazioni) | non (?:mi )?ricordo | nessuna idea
    | weet (?:ik )?(?:het )?niet | geen idee | geen informatie | herinner me niet
    | vet (?:jag )?(?:det )?(?:inte|ej) | ingen aning | ingen information | minns inte
    | nie wiem | nie mam pojęcia | nie mam (?:żadnych )?informacji | nie pamiętam
    | не знаю | понятия не имею | нет (?:никакой )?информации | не помню
    | гадки не маю | немає інформації | не пам'ятаю
    | bilmiyorum | bilgim yok | fikrim yok | hatırlamıyorum
    | không biết | không có thông tin | không nhớ | tidak tahu | tidak punya informasi | tidak ingat
    | nu știu | nu stiu | habar n-am | nu am (?:nicio )?informați[ie]i? | nu-mi amintesc
    | δεν ξέρω | δεν γνωρίζω | δεν θυμάμαι | καμία ιδέα | لا أعرف | لا أعلم | لا أدري | ليس لدي معلومات | لا أتذكر
    | नहीं पता | पता नहीं | नहीं जानता | नहीं जानती | जानकारी नहीं
    | 不知道 | 不清楚 | 不记得 | 没有(?:相关|任何)?(?:信息|记录) | 知りません | わかりません | 分かりません | 覚えていません | わからない | 分からない
    | 情報(?:が|は)ありません | 모르겠\\w* | 몰라요? | 모릅니다 | 기억나지 않\\w* | 정보가 없\\w*
    | ไม่ทราบ | ไม่รู้ | จำไม่ได้ | ไม่มีข้อมูล
"""
"""How one says that one has no answer, parted by ``|``; patterns in small letters"""

NO_ANSWER_MARKS = """
    know remember recall information memory memories record records note notes detail details idea knowledge data clue
    sure aware unaware unsure find answer nothing mention mentioned tell told said share shared found known recorded
    weiß weiss ahnung keine nichts bekannt sagen finden erinnern sais idée informations souviens sé información datos
    recuerdo sei ideia informações informação lembro so informazioni ricordo nessuna weet idee informatie herinner vet
    aning minns wiem pojęcia informacji pamiętam знаю понятия информации помню гадки інформації пам ятаю bilmiyorum
    bilgim fikrim hatırlamıyorum biết tin nhớ tahu informasi ingat știu stiu habar informații informatii amintesc ξέρω
    γνωρίζω θυμάμαι ιδέα أعرف أعلم أدري معلومات أتذكر पता जानता जानती जानकारी
    look check see search moment second minute nachsehen nachschauen prüfen schauen schau schaue nach augenblick vérifier
    vérifie regarde regarder chercher voir instant momento segundo ver revisar buscar comprobar mirar посмотрю проверю
    поищу узнаю минуту минутку
"""
"""Words of which each of these has one"""
NO_ANSWER_PIECES = """
    查 看 稍等 稍候 让我
    不知道 不清楚 不记得 信息 记录 知りません わかり 分かり 覚えて わからない 分からない ありません 모르겠 몰라 모릅니다 기억나지 정보가
    ไม่ทราบ ไม่รู้ จำไม่ได้ ไม่มีข้อมูล
"""
"""The same for scripts without spaces"""

CONTRAST = """
    but | however | although | though | except | aber | jedoch | allerdings | mais | cependant | pero | aunque | mas
    | porém | ma | però | maar | echter | men | dock | ale | jednak | но | однако | але | проте | ama | fakat | nhưng
    | tapi | tetapi | dar | însă | αλλά | όμως | لكن | लेकिन | 但是?[^是] | 不过 | でも | しかし | ただ | けど | 하지만 | แต่
"""
"""What goes on to say something after all"""

FILLERS = """
    i we you me it that this the a an about so sorry afraid unfortunately really honestly well oh hm hmm um uh actually
    yet im m am any s t ich es das leider tut mir leid dazu darüber je j désolé malheureusement ne n yo lo siento eso
    eu isso desculpe io mi dispiace purtroppo ik het helaas jag det tyvärr ja to przykro niestety я это извините жаль
    мне к сожалению вибачте üzgünüm maalesef bunu tôi xin lỗi saya maaf eu nu îmi pare rău δυστυχώς λυπάμαι أنا آسف
    मुझे मैं माफ़ है हूँ 我 我也 对不 不起 抱歉 私は 私 は 申し 訳あ すみ みま ませ せん 저는 죄송 ขอโทษ ฉัน
"""
"""Words that may be beside an empty answer"""


FEWEST_WORDS = 40
"""With fewer words no guess is made"""
OTHER_SCRIPTS_SHARE = 0.3
"""Share of letters of other scripts from which a text is not English"""
MARGIN = 1.25
"""How many times as many common words another language must have"""

_word = re.compile(r"[^\W\d_]+")


def language_tables(package: str | None, file: str) -> dict[str, Any]:
    """Return the tables of words in a TOML file of a package."""
    content = get_data(package or "", file) or b""
    return tomllib.loads(content.decode("utf-8"))


@cache
def words_of(listed: str) -> frozenset[str]:
    """Return the words of a table, which are split at their first use."""
    return frozenset(listed.split())


def is_english(texts: Iterable[str]) -> bool:
    """Return false when most of the texts are in another language; true when that is not clear."""
    words = [word.lower() for text in texts for word in _word.findall(text)]
    letters = "".join(words)
    # A run of letters without spaces is one word, so letters decide about other scripts.
    others = sum(letter > "\u024f" for letter in letters)
    if others > OTHER_SCRIPTS_SHARE * len(letters) and others >= FEWEST_WORDS:
        return False
    if len(words) < FEWEST_WORDS:
        return True
    counts = {
        language: sum(word in words_of(listed) for word in words)
        for language, listed in STOP_WORDS.items()
    }
    english = counts.pop("en")
    return max(counts.values(), default=0) <= MARGIN * english
