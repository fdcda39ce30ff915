"""German words that name times."""

from memsense.search.question.time.tables.table import Table

TABLE = Table(
    months=(
        "januar|jan|jänner|januars februar|feb|feber|februars märz|maerz|mrz april|apr mai|mais"
        " juni|jun|juno juli|jul august|aug sept+ember+|sep oktober|okt november|nov dezember|dez"
    ),
    weekdays=(
        "montag++abend+morgen+nachmittag dienstag++abend+morgen+nachmittag"
        " mittwoch++abend+morgen+nachmittag donnerstag++abend+morgen+nachmittag"
        " freitag++abend+morgen+nachmittag samstag|sonnabend|samstag+abend+morgen+nachmittag"
        " sonntag++abend+morgen+nachmittag"
    ),
    seasons="früh+ling+jahr|frueh+ling+jahr|frühlings sommer++s herbst++es winter++s",
    units=(
        "hour=stunde/stunden day=tag|tages/tage++n week=woche|kw|kalenderwoche/wochen"
        " weekend=wochenende++s/wochenenden month=monat++s+es/monate++n quarter=quartal++s+e+en"
        " year=jahr++e+es+s/jahren 6_month=halbes_jahr|halben_jahr|halbjahr|halben_jahres"
        " 10_year=jahrzehnt++e+en"
    ),
    numbers=(
        "ein|eine++m+n+r+s zwei|zwo drei vier fünf|fuenf sechs sieben acht neun zehn elf"
        " zwölf|zwoelf 14=vierzehn"
    ),
    ordinals=(
        "erste++n+s+r zweite++n+s dritte++n+s vierte++n+s fünfte++n sechste++n siebte++n achte++n"
        " neunte++n zehnte++n elfte++n zwölfte++n dreizehnte++n vierzehnte++n fünfzehnte++n"
        " sechzehnte++n siebzehnte++n achtzehnte++n neunzehnte++n zwanzigste++n"
        " einundzwanzigste++n zweiundzwanzigste++n dreiundzwanzigste++n vierundzwanzigste++n"
        " fünfundzwanzigste++n sechsundzwanzigste++n siebenundzwanzigste++n"
        " achtundzwanzigste++n neunundzwanzigste++n dreißigste++n einunddreißigste++n"
    ),
    vague="2-4=ein_paar|paar|einige++n|wenige++n 3-5=mehrere++n",
    roles=(
        "e=im|im_monat|in|während|waehrend|innerhalb|in_den|in_der|in_diesem f=am|an|den|dem"
        " s=seit|ab|seit_dem|von_da_an_ab|beginnend_mit|beginnend_am b=bevor"
        " a=nach|nach_dem|nachdem u=bis|bis_zum|bis_zur|bis_einschließlich"
        " y=stand|per|spätestens|bis_spätestens|mit_stand|stand_vom"
        " h=zu|für|über|um|gegen|ueber|fuer|im_laufe|im_verlauf|rund_um k=zwischen q=von|vom &=und"
        " |=oder o=des|des_monats d=der|die|das c=ich|wir|du|ihr|er|sie|es|man|mich|mir|uns|war"
        "|waren|hat|habe"
        "|hatte|haben|gab|ist|sich|wurde++n|passierte|geschah"
        " L=letzte++n+r+s+m|vergangene++n+r+s+m|vorige++n+r+s+m|vorherige++n m=vorletzte++n+r+s+m"
        " P=diese++n+r+s+m|heurige++n|laufenden|aktuellen"
        " X=nächste++n+r+s+m|naechste++n|kommende++n+r+s+m p=vor ^=direkt|gleich|unmittelbar|kurz"
        " $=zuletzt|letzte_mal|letztes_mal|letzten_mal"
        " %=erste_mal|erstes_mal|ersten_mal|erstmals|zuerst A=zuvor|früher @=herr|herrn|frau"
        "|straße|platz|allee|dr"
        " T=morgen|vormittag|mittag|nachmittag|abend|nacht|früh|morgens|abends|nach+mittags+ts"
    ),
    named=(
        "0=heute|heute_morgen|heute_früh|heute_vormittag|heute_mittag|heute_nachmittag"
        " 1=gestern|gestrigen_tag|letzte_nacht|gestrigen 2=vorgestern 3=vorvorgestern"
        " -1=morgen_früh|morgen_abend|morgen_nachmittag -2=übermorgen|uebermorgen"
    ),
    next_days="1=folgetag -1=vortag|vorabend",
    tonight="heute abend|heute nacht",
    recently="neulich|kürzlich|kuerzlich|letztens|vor kurzem|unlängst|dieser tage",
    feasts=(
        "easter=oster+n+sonntag+wochenende+fest+feiertagen easter_monday=ostermontag"
        " good_friday=karfreitag pentecost=pfingst+en+sonntag+montag+wochenende"
        " ascension=christi_himmelfahrt|himmelfahrt|vatertag"
        " carnival=rosenmontag|fasching|karneval|fastnacht"
        " christmas=weihnacht+en+sfest+sfeiertag|weihnachtsfeiertagen"
        " christmas_eve=heiligabend|heilig_abend|heiligen_abend new_year=neujahr++stag"
        " new_years_eve=silvester|sylvester valentine=valentinstag halloween=halloween"
        " st_nicholas=nikolaus++tag epiphany=dreikönig++stag unity_day=tag_der_deutschen_einheit"
        " labour_day=tag_der_arbeit"
    ),
    parts=(
        "early=anfang|zu_beginn|beginn|anfangs|in_den_ersten_tagen mid=mitte"
        " late=ende|gegen_ende|ausgang"
        " first_half=ersten_hälfte|erste_hälfte|ersten_halbjahr|erstes_halbjahr"
        " second_half=zweiten_hälfte|zweite_hälfte|zweiten_halbjahr|zweites_halbjahr"
    ),
    decades=(
        "1950=fünfziger+n++jahren+jahre 1960=sechziger+n++jahren+jahre"
        " 1970=siebziger+n++jahren+jahre 1980=achtziger+n++jahren+jahre"
        " 1990=neunziger+n++jahren+jahre"
    ),
    counted=(
        "euro++s|dollar|metern|zeichen|stücken|punkten|leute++n|personen|menschen|schritte++n|meter"
        "|kilometer|km|kg|gramm|seiten|zeilen|nutzer|kunden|stück|teile|wörter|worte|tage|stunden"
        "|mal|punkte|kalorien|dateien|mitarbeiter++n|einträge|watt|volt|liter|prozent|grad|tests"
        "|minuten|sekunden|einwohner++n|teilnehmer|mb|gb|kb|ms"
    ),
    future="wird|werde++n|wirst|werdet|steht an|ansteh+t+en",
    past="war|waren|hat|habe++n|hatte++n|wurde++n|gab",
    habits="jede+n+r+s+m|alle|pro",
    common=(
        "was|habe|ich|wir|haben|hat|ist|war|waren|der|die|das|und|wann|wo|wer|wie|wie|welche++n+s+r"
        "|mein++e+en|mit|mir|mich|uns|es|ein|eine|am|im|nicht|von|zu|gab|los|gemacht|auf|für|bei"
        "|bin|wurde++n|dem|den|des"
    ),
    shared="mais|jun|jul|stand|per|an|die|des|er|es|in|man|morgen|an|war|um|rund|august|ab|den",
    topicless=(
        "getan|passiert|geschehen|alles|so|denn|ereignet|zugetragen|unternommen|erlebt|getrieben"
        "|hatten|machte++n|tat|taten|sind|dort|damals|einen|tag|tage|woche|zeig++e|sag|erzähl"
        "|noti+ert+zen|aufgeschrieben|geschrieben|eingetragen|etwas|irgend+etwas+was|steht"
        "|verbracht|jahr|monat|jahres|monats|liste|eigentlich|genau"
    ),
    month_leads="efsuybahLPXgpkq",
    year_leads="esuybagpkqcJ",
    weekday_leads="feq ",
    people="august",
    capital="always",
)
