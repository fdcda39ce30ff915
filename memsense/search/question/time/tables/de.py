"""German words that name times."""

from memsense.search.question.time.tables import Table

GERMAN = Table(
    months=(
        "januar|jan|jänner|januars",
        "februar|feb|feber|februars",
        "märz|maerz|mrz",
        "april|apr",
        "mai|mais",
        "juni|jun|juno",
        "juli|jul",
        "august|aug",
        "september|sept|sep",
        "oktober|okt",
        "november|nov",
        "dezember|dez",
    ),
    weekdays=(
        "montag|montagabend|montagmorgen|montagnachmittag",
        "dienstag|dienstagabend|dienstagmorgen|dienstagnachmittag",
        "mittwoch|mittwochabend|mittwochmorgen|mittwochnachmittag",
        "donnerstag|donnerstagabend|donnerstagmorgen|donnerstagnachmittag",
        "freitag|freitagabend|freitagmorgen|freitagnachmittag",
        "samstag|sonnabend|samstagabend|samstagmorgen|samstagnachmittag",
        "sonntag|sonntagabend|sonntagmorgen|sonntagnachmittag",
    ),
    seasons={
        3: "frühling|frühjahr|fruehling|fruehjahr|frühlings",
        6: "sommer|sommers",
        9: "herbst|herbstes",
        12: "winter|winters",
    },
    units={
        "hour": "stunde|stunden",
        "day": "tag|tage|tagen|tages",
        "week": "woche|wochen",
        "weekend": "wochenende|wochenenden|wochenendes",
        "month": "monat|monate|monaten|monats|monates",
        "quarter": "quartal|quartals|quartale|quartalen",
        "year": "jahren",
        "6 month": "halbes jahr|halben jahr|halbjahr|halben jahres",
        "10 year": "jahrzehnt|jahrzehnte|jahrzehnten",
    },
    many={
        "hour": "stunden",
        "day": "tage|tagen",
        "week": "wochen",
        "weekend": "wochenenden",
        "month": "monate|monaten",
        "year": "jahren",
    },
    year="jahr|jahre|jahres|jahrs",
    numbers={
        1: "ein|eine|einem|einen|einer|eines",
        2: "zwei|zwo",
        3: "drei",
        4: "vier",
        5: "fünf|fuenf",
        6: "sechs",
        7: "sieben",
        8: "acht",
        9: "neun",
        10: "zehn",
        11: "elf",
        12: "zwölf|zwoelf",
        14: "vierzehn",
    },
    vague={
        (3, 1): "ein paar|paar|einige|einigen|wenige|wenigen",
        (4, 1): "mehrere|mehreren",
    },
    ordinals={
        1: "erste|ersten|erstes|erster",
        2: "zweite|zweiten|zweites",
        3: "dritte|dritten|drittes",
        4: "vierte|vierten|viertes",
    },
    roles={
        "e": "im|in|während|waehrend|innerhalb|in den|in der|in diesem",
        "f": "am|an|den|dem",
        "s": "seit|ab|seit dem|von da an ab|beginnend mit|beginnend am",
        "b": "bevor",
        "a": "nach|nach dem|nachdem",
        "u": "bis|bis zum|bis zur|bis einschließlich",
        "y": "stand|per|spätestens|bis spätestens|mit stand|stand vom",
        "h": "zu|für|über|um|gegen|ueber|fuer|im laufe|im verlauf|rund um",
        "k": "zwischen",
        "q": "von|vom",
        "&": "und",
        "|": "oder",
        "o": "des",
        "d": "der|die|das",
        "c": (
            "ich|wir|du|ihr|er|sie|es|man|mich|mir|uns|war|waren|hat|habe|hatte|haben|gab|ist|sich"
            "|wurde|wurden|passierte|geschah"
        ),
        "L": (
            "letzte|letzten|letzter|letztes|letztem|vergangene|vergangenen|vergangener|vergangenes"
            "|vergangenem|vorige|vorigen|voriger|voriges|vorigem|vorherige|vorherigen"
        ),
        "m": "vorletzte|vorletzten|vorletzter|vorletztes|vorletztem",
        "P": "diese|diesen|dieser|dieses|diesem|heurige|heurigen|laufenden|aktuellen",
        "X": (
            "nächste|nächsten|nächster|nächstes|nächstem|naechste|naechsten|kommende|kommenden"
            "|kommender|kommendes|kommendem"
        ),
        "p": "vor",
        "^": "direkt|gleich|unmittelbar|kurz",
        "$": "zuletzt|letzte mal|letztes mal|letzten mal",
        "%": "erste mal|erstes mal|ersten mal|erstmals|zuerst",
        "A": "zuvor|früher",
        "T": (
            "morgen|vormittag|mittag|nachmittag|abend|nacht|früh|morgens|abends|nachmittags|nachts"
        ),
    },
    named={
        0: ("heute|heute morgen|heute früh|heute vormittag|heute mittag|heute nachmittag"),
        1: "gestern|gestrigen tag|letzte nacht|gestrigen",
        2: "vorgestern",
        3: "vorvorgestern",
        -1: "morgen früh|morgen abend|morgen nachmittag",
        -2: "übermorgen|uebermorgen",
    },
    tonight="heute abend|heute nacht",
    next_days={1: "folgetag", -1: "vortag|vorabend"},
    recently="neulich|kürzlich|kuerzlich|letztens|vor kurzem|unlängst|dieser tage",
    feasts={
        "easter": "ostern|ostersonntag|osterwochenende|osterfest|osterfeiertagen",
        "easter_monday": "ostermontag",
        "good_friday": "karfreitag",
        "pentecost": "pfingsten|pfingstsonntag|pfingstmontag|pfingstwochenende",
        "ascension": "christi himmelfahrt|himmelfahrt|vatertag",
        "carnival": "rosenmontag|fasching|karneval|fastnacht",
        "christmas": "weihnachten|weihnachtsfest|weihnachtsfeiertag|weihnachtsfeiertagen",
        "christmas_eve": "heiligabend|heilig abend|heiligen abend",
        "new_year": "neujahr|neujahrstag",
        "new_years_eve": "silvester|sylvester",
        "valentine": "valentinstag",
        "halloween": "halloween",
        "st_nicholas": "nikolaus|nikolaustag",
        "epiphany": "dreikönig|dreikönigstag",
        "unity_day": "tag der deutschen einheit",
        "labour_day": "tag der arbeit",
    },
    parts={
        "early": "anfang|zu beginn|beginn|anfangs|in den ersten tagen",
        "mid": "mitte",
        "late": "ende|gegen ende|ausgang",
        "first half": "ersten hälfte|erste hälfte|ersten halbjahr|erstes halbjahr",
        "second half": "zweiten hälfte|zweite hälfte|zweiten halbjahr|zweites halbjahr",
    },
    decades={
        1950: "fünfzigern|fünfziger|fünfzigerjahren|fünfzigerjahre",
        1960: "sechzigern|sechziger|sechzigerjahren|sechzigerjahre",
        1970: "siebzigern|siebziger|siebzigerjahren|siebzigerjahre",
        1980: "achtzigern|achtziger|achtzigerjahren|achtzigerjahre",
        1990: "neunzigern|neunziger|neunzigerjahren|neunzigerjahre",
    },
    counted=(
        "euro|euros|dollar|metern|zeichen|stücken|punkten|leute|leuten|personen|menschen|schritte|schritten|meter|kilometer|km|kg|gramm|seiten"
        "|zeilen|nutzer|kunden|stück|teile|wörter|worte|tage|stunden|mal|punkte|kalorien|dateien"
        "|mitarbeiter|mitarbeitern|einträge|watt|volt|liter|prozent|grad|tests|minuten|sekunden"
        "|einwohner|einwohnern|teilnehmer|mb|gb|kb|ms"
    ),
    future="wird|werde|werden|wirst|werdet|steht an|ansteht|anstehen",
    past="war|waren|hat|habe|haben|hatte|hatten|wurde|wurden|gab",
    habits="jeden|jeder|jedes|jedem|alle|pro",
    common=(
        "was|habe|ich|wir|haben|hat|ist|war|waren|der|die|das|und|wann|wo|wer|wie|wie|welche|welchen"
        "|welches|welcher|mein|meine|meinen|mit|mir|mich|uns|es|ein|eine|am|im|nicht|von|zu|gab"
        "|los|gemacht|auf|für|bei|bin|wurde|wurden|dem|den|des"
    ),
    shared="mais|jun|jul|stand|per|an|die|des|er|es|in|man|morgen|an|war|um|rund|august|ab|den",
    topicless=(
        "was|habe|ich|wir|haben|hat|ist|war|waren|los|gemacht|getan|passiert|geschehen|geschah"
        "|passierte|gab|es|alles|so|denn|mir|mich|uns|bei|da|sich|ereignet|zugetragen|unternommen"
        "|erlebt|getrieben|hatte|hatten|machte|machten|tat|taten|bin|sind|dort|damals|an|am|im|in"
        "|der|die|das|den|dem|ein|eine|einen|und|von|zu|tag|tage|woche|zeig|zeige|sag|erzähl|notiert"
        "|notizen|aufgeschrieben|geschrieben|eingetragen|etwas|irgendetwas|irgendwas|welche|wie"
        "|stand|steht|verbracht|jahr|monat|jahres|monats|mit|auf|liste|über|eigentlich|genau"
    ),
    month_leads="efsuybahLPXgpkq",
    year_leads="esuybagpkqcJ",
    weekday_leads="feq ",
    capital="always",
)
