"""French words that name times."""

from memsense.search.question.time.tables import Table

FRENCH = Table(
    months=(
        "janvier|janv",
        "février|fevrier|févr|fév",
        "mars",
        "avril|avr",
        "mai",
        "juin",
        "juillet|juil",
        "août|aout",
        "septembre",
        "octobre|oct",
        "novembre|nov",
        "décembre|decembre|déc",
    ),
    weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    seasons={3: "printemps", 6: "été|ete", 9: "automne", 12: "hiver"},
    units={
        "hour": "heure|heures",
        "day": "jour|jours",
        "week": "semaine|semaines",
        "weekend": "week end|weekend|week - end|week-end|weekends",
        "month": "mois",
        "quarter": "trimestre|trimestres",
        "year": "ans|années|annees",
        "2 week": "quinzaine|quinzaine de jours|quinze jours",
        "6 month": "semestre",
        "10 year": "décennie|décennies",
    },
    many={
        "hour": "heures",
        "day": "jours",
        "week": "semaines",
        "weekend": "weekends",
        "year": "ans|années|annees",
    },
    year="an|année|annee",
    numbers={
        1: "un|une",
        2: "deux",
        3: "trois",
        4: "quatre",
        5: "cinq",
        6: "six",
        7: "sept",
        8: "huit",
        9: "neuf",
        10: "dix",
        11: "onze",
        12: "douze",
    },
    vague={
        (2, 0): "une paire de|un couple de",
        (3, 1): "quelques",
        (4, 1): "plusieurs",
    },
    ordinals={
        1: "premier|première|premiere",
        2: "deuxième|second|seconde|deuxieme",
        3: "troisième|troisieme",
        4: "quatrième|quatrieme",
    },
    roles={
        "Z": "dans",
        "e": "en|pendant|durant|au cours de|au cours du|lors de|lors du|courant",
        "f": "le",
        "s": "depuis|depuis le|à partir de|à partir du|dès|à compter du|à compter de|a partir du",
        "b": "avant|avant le|avant la|antérieur à|précédant|avant l",
        "a": "après|apres|suivant|après le|apres le",
        "u": "jusqu à|jusqu en|jusqu au|jusque|jusqu à la|jusqu a",
        "y": "d ici|d ici à|d ici le|en date du|à la date du|au plus tard",
        "h": "pour|vers|autour de|sur|lors des|au long de|durant les|au cours des|au cours",
        "k": "entre",
        "t": "à|au|aux",
        "&": "et",
        "|": "ou",
        "o": "de|d|du|des",
        "d": "l|la|les",
        "l": "dernier|dernière|derniers|dernières|passé|passée|passés|précédent|précédente",
        "m": "avant - dernier|avant - dernière|avant dernière",
        "P": "ce|cet|cette|ces",
        "x": "prochain|prochaine|prochains|prochaines|suivante",
        "^": "juste|directement|immédiatement|tout de suite",
        "$": "dernière fois|en dernier",
        "%": "première fois",
        "G": "il y a|voilà|voici|y a",
        "A": "plus tôt|auparavant",
        "c": "ci|là",
        "T": "matin|soir|midi|nuit|après - midi|après midi",
    },
    named={
        0: "aujourd hui|ce matin|cet après - midi|cet après midi",
        1: "hier|hier soir|hier matin|la nuit dernière|la veille au soir",
        2: "avant - hier|avant hier",
        -1: "demain",
        -2: "après - demain|après demain",
    },
    tonight="ce soir|cette nuit",
    next_days={1: "lendemain", -1: "veille"},
    recently="l autre jour|l autre soir|ces jours - ci|récemment",
    feasts={
        "easter": "pâques|paques|dimanche de pâques",
        "easter_monday": "lundi de pâques",
        "good_friday": "vendredi saint",
        "pentecost": "pentecôte|pentecote|lundi de pentecôte",
        "ascension": "ascension|jeudi de l ascension",
        "carnival": "mardi gras",
        "christmas": "noël|noel",
        "christmas_eve": "réveillon de noël|veille de noël",
        "new_year": "nouvel an|jour de l an",
        "new_years_eve": "saint - sylvestre|saint sylvestre|réveillon",
        "valentine": "saint - valentin|saint valentin",
        "halloween": "halloween",
        "all_saints": "toussaint",
        "assumption": "assomption",
        "epiphany": "épiphanie",
        "bastille_day": "fête nationale",
        "labour_day": "fête du travail",
    },
    parts={
        "early": "début|au début|debut|au début du mois|commencement",
        "mid": "mi|milieu|au milieu|à la mi",
        "late": "fin|à la fin|la fin",
        "first half": "première moitié|premier semestre",
        "second half": "seconde moitié|deuxième moitié|second semestre|deuxième semestre",
    },
    decades={
        1950: "années 50|années cinquante",
        1960: "années 60|années soixante",
        1970: "années 70|années soixante - dix",
        1980: "années 80|années quatre - vingt",
        1990: "années 90|années quatre - vingt - dix|années 1990",
    },
    counted=(
        "euros|euro|dollars|personnes|gens|pas|mètres|metres|kilomètres|km|kg|pages|lignes|mots|jours"
        "|heures|fois|points|calories|fichiers|clients|utilisateurs|employés|grammes|litres|unités"
        "|tests|minutes|secondes|habitants|participants|mo|go|ko|ms|pour"
    ),
    future="vais|vas|va|allons|allez|vont|sera|seront|aura|auront|ferai|ferons|aurai|serai",
    habits="chaque|tous les|toutes les|tout|tous|toutes|par",
    common=(
        "en|que|qu|est|ce|j|ai|je|nous|avons|le|la|les|un|une|des|du|quoi|quel|quelle|quels|quelles|où"
        "|quand|comment|s|il|elle|on|était|a|fait|passé|au|aux|avec|mon|ma|mes|pour|et|dans|sur|moi"
        "|pourquoi|qui|c|avais|avait|suis|notre|combien"
    ),
    shared=(
        "hier|oct|nov|mi|fin|an|a|on|mi|passe|un|pour|sur|six|ci|second|dix|ou|et|le"
        "|la|les|de|du|des|d|l|au|en|ce|demain|ete|suivant|depuis|dans"
    ),
    topicless=(
        "que|qu|quoi|est|ce|j|ai|je|fait|faite|faits|s|passé|passée|il|y|a|eu|me|m|nous|avons|on|qu"
        "|était|étais|qui|arrivé|arrivée|moi|lieu|avais|faisais|faisait|tout|toutes|tous|cela|ça|ai"
        "|suis|sommes|les|le|la|l|un|une|des|de|du|d|au|à|en|ce|cette|mon|ma|mes|dis|montre|noté|notée"
        "|notes|écrit|raconte|quelles|quels|choses|chose|été|pendant|jour|jours|semaine|mois|année"
        "|faire|rappelle|liste|donc|et|là|t|il|c"
    ),
    month_leads="esubyahgkoftx",
    year_leads="esubygkaoJ",
    season_leads="eth",
    weekday_leads=" ",
    capital="never",
)
