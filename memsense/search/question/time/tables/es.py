"""Spanish words that name times."""

from memsense.search.question.time.tables import Table

SPANISH = Table(
    months=(
        "enero|ene",
        "febrero|feb",
        "marzo",
        "abril|abr",
        "mayo",
        "junio|jun",
        "julio|jul",
        "agosto|ago",
        "septiembre|setiembre|sept|sep",
        "octubre|oct",
        "noviembre|nov",
        "diciembre|dic",
    ),
    weekdays=(
        "lunes",
        "martes",
        "miércoles|miercoles",
        "jueves",
        "viernes",
        "sábado|sabado",
        "domingo",
    ),
    seasons={3: "primavera", 6: "verano", 9: "otoño|otono", 12: "invierno"},
    units={
        "hour": "hora|horas",
        "day": "día|días|dia|dias",
        "week": "semana|semanas",
        "weekend": "fin de semana|fines de semana|finde",
        "month": "mes|meses",
        "quarter": "trimestre|trimestres",
        "year": "años|anios",
        "2 week": "quincena",
        "6 month": "medio año|semestre",
        "10 year": "década|décadas",
    },
    many={
        "hour": "horas",
        "day": "días|dias",
        "week": "semanas",
        "weekend": "fines de semana",
        "month": "meses",
        "year": "años|anios",
    },
    year="año|ano|anio",
    numbers={
        1: "un|una|uno",
        2: "dos",
        3: "tres",
        4: "cuatro",
        5: "cinco",
        6: "seis",
        7: "siete",
        8: "ocho",
        9: "nueve",
        10: "diez",
        11: "once",
        12: "doce",
        15: "quince",
    },
    vague={
        (2, 0): "un par de|par de",
        (3, 1): "unos|unas|algunos|algunas|unos cuantos|unas cuantas|pocos|pocas",
        (4, 1): "varios|varias",
    },
    ordinals={
        1: "primero|primer|primera",
        2: "segundo|segunda",
        3: "tercer|tercero|tercera",
        4: "cuarto|cuarta",
    },
    roles={
        "Z": "dentro de",
        "e": "en|durante|en el transcurso de",
        "f": "el",
        "s": "desde|desde el|a partir de|a partir del|desde la",
        "b": "antes de|antes del|previo a|previo al|antes|anterior al|anterior a",
        "a": "después de|después del|tras|tras el|posterior a|siguiente al|siguiente a",
        "u": "hasta|hasta el|hasta la",
        "y": "para|a fecha de|a más tardar|como muy tarde|a fecha del",
        "h": "por|sobre|alrededor de|a lo largo de|a lo largo del",
        "k": "entre",
        "t": "a|al",
        "&": "y|e",
        "|": "o|u",
        "o": "de|del",
        "d": "la|los|las",
        "B": "pasado|pasada|pasados|pasadas",
        "l": "último|última|últimos|últimas|anterior",
        "m": "antepasado|antepasada",
        "P": "este|esta|estos|estas",
        "C": "próximo|próxima|proximo|proxima|próximos|próximas|siguiente|que viene",
        "^": "justo|inmediatamente|directamente|enseguida",
        "$": "última vez",
        "%": "primera vez",
        "G": "hace",
        "A": "atrás|atras",
        "T": "por la mañana|por la tarde|por la noche|noche|tarde|al mediodía|en la noche",
    },
    named={
        0: "hoy|esta mañana|esta tarde",
        1: "ayer|anoche",
        2: "anteayer|antier|antes de ayer|anteanoche|antes de anoche",
        -1: "mañana por la mañana|mañana por la tarde|mañana por la noche",
        -2: "pasado mañana",
    },
    tonight="esta noche",
    next_days={1: "día siguiente", -1: "víspera|día anterior"},
    recently="el otro día|la otra noche|hace poco|el otro dia|recientemente",
    feasts={
        "easter": "pascua|domingo de pascua|domingo de resurrección|semana santa",
        "good_friday": "viernes santo",
        "pentecost": "pentecostés",
        "carnival": "carnaval|carnavales",
        "christmas": "navidad|navidades",
        "christmas_eve": "nochebuena",
        "new_year": "año nuevo",
        "new_years_eve": "nochevieja|fin de año",
        "valentine": "san valentín|día de los enamorados",
        "halloween": "halloween",
        "all_saints": "todos los santos|día de los muertos|día de muertos",
        "epiphany": "reyes magos|día de reyes|reyes",
        "assumption": "asunción",
        "labour_day": "día del trabajo|día del trabajador",
    },
    parts={
        "early": "principios|a principios|comienzos|a comienzos|inicios|a inicios|al principio",
        "first half": "primera mitad|primer semestre",
        "second half": "segunda mitad|segundo semestre",
        "mid": "mediados|a mediados|mitad",
        "late": "finales|a finales|fines|a fines|final|al final|fin",
    },
    decades={
        1950: "años 50|años cincuenta|cincuenta",
        1960: "años 60|años sesenta",
        1970: "años 70|años setenta",
        1980: "años 80|años ochenta",
        1990: "años 90|años noventa|noventa",
    },
    counted=(
        "euros|euro|dólares|pesos|personas|gente|pasos|metros|kilómetros|km|kg|páginas|líneas|palabras"
        "|días|horas|veces|puntos|calorías|archivos|clientes|usuarios|empleados|gramos|litros"
        "|unidades|pruebas|minutos|segundos|habitantes|participantes|mb|gb|kb|ms|por"
    ),
    future="voy|vas|va|vamos|van|será|serán|habrá|haré|haremos|tendré|tendremos",
    habits="cada|todos los|todas las|todo|todos|todas|por",
    common=(
        "qué|que|cuándo|cuando|dónde|donde|quién|quien|cómo|cuál|cuáles|cuánto|hice|hicimos|pasó|el|la"
        "|los|las|un|una|de|del|en|mi|me|mis|nos|con|por|y|es|fue|fui|fuimos|era|había|hubo|he|ha|yo"
        "|para|al|se|lo|estuve|comí|su|tuve|sobre"
    ),
    shared=(
        "e|o|u|a|y|un|once|tarde|para|por|este|esta|ano|ago|feb|sep|sept|oct|nov|jun|jul|dic|ene"
        "|antes|hace|final|fin|sobre|de|del|en|el|al|la|los|las|par de|pasado|reyes|dia|dias"
        "|noche|mes|tras|entre|seis|cada"
    ),
    topicless=(
        "qué|que|hice|hicimos|pasó|paso|ocurrió|sucedió|hubo|había|me|nos|mi|mis|el|la|lo|los|las|en|de"
        "|del|a|al|un|una|y|yo|fue|era|he|hecho|ha|pasado|hacer|estuve|haciendo|cosas|cosa|todo|todas"
        "|todos|día|días|semana|mes|año|anoté|escribí|apunté|notas|dime|muéstrame|cuéntame|durante|por"
        "|se|ese|esa|eso|con|cuáles|qué|hacía|estaba|lista|recuerda|recuérdame|acontecimientos"
    ),
    month_leads="esubyahgkfodBCPltq",
    year_leads="esubygkaoJ",
    weekday_leads="f",
    capital="never",
)
