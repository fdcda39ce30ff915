"""English words that name times."""

from memsense.search.question.time.tables import Table

ENGLISH = Table(
    months=(
        "january|jan",
        "february|feb",
        "march|mar",
        "april|apr",
        "may",
        "june|jun",
        "july|jul",
        "august|aug",
        "september|sept|sep",
        "october|oct",
        "november|nov",
        "december|dec",
    ),
    weekdays=("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    short_weekdays=(
        "mon",
        "tue|tues",
        "wed",
        "thu|thur|thurs",
        "fri",
        "sat",
        "sun",
    ),
    seasons={3: "spring|springtime", 6: "summer|summertime", 9: "autumn|fall", 12: "winter"},
    units={
        "hour": "hour|hours",
        "day": "day|days",
        "week": "week|weeks|wk|wks",
        "weekend": "weekend|weekends",
        "month": "month|months",
        "quarter": "quarter",
        "year": "years",
        "2 week": "fortnight|fortnights",
        "6 month": "half a year",
        "10 year": "decade|decades",
    },
    many={"day": "days", "week": "weeks", "month": "months", "year": "years", "hour": "hours"},
    year="year|yr",
    numbers={
        1: "a|an|one",
        2: "two",
        3: "three",
        4: "four",
        5: "five",
        6: "six",
        7: "seven",
        8: "eight",
        9: "nine",
        10: "ten",
        11: "eleven",
        12: "twelve",
    },
    vague={
        (2, 0): "a couple of|couple of|a couple|couple",
        (3, 1): "a few|few|some",
        (4, 1): "several",
    },
    ordinals={1: "first", 2: "second", 3: "third", 4: "fourth"},
    roles={
        "e": "in|during|throughout|within|over the course of|in the course of",
        "f": "on",
        "s": "since|ever since",
        "b": "before|prior to|preceding|earlier than",
        "a": "after|following|later than",
        "u": "until|till|up to|up until",
        "y": "by|as of|as at|no later than|not later than|by the end of",
        "h": "for|over|around|about|at|month of",
        "k": "between",
        "q": "from|starting|beginning",
        "t": "to|through|thru",
        "&": "and",
        "|": "or",
        "o": "of|in the year",
        "d": "the",
        "L": "last|past|previous|this past",
        "P": "this|current",
        "X": "next|coming|upcoming",
        "^": "right|just|immediately|directly|shortly|straight|soon",
        "$": "last time|most recently|most recent time|latest time",
        "%": "first time|very first time|earliest time",
        "A": "ago|earlier|back",
        "T": "morning|afternoon|evening|night",
    },
    named={
        0: "today|this morning|this afternoon|this evening",
        1: "yesterday|last night",
        2: "day before yesterday|the day before yesterday",
        -1: "tomorrow",
        -2: "day after tomorrow|the day after tomorrow",
    },
    tonight="tonight",
    recently="the other day|the other night|the other evening|the other week",
    feasts={
        "easter": "easter|easter sunday|easter weekend",
        "easter_monday": "easter monday",
        "good_friday": "good friday",
        "pentecost": "pentecost|whitsun|whit sunday",
        "ascension": "ascension day",
        "christmas": "christmas|xmas|christmas day|boxing day",
        "christmas_eve": "christmas eve",
        "new_year": "new year|new year's|new year's day|new years day",
        "new_years_eve": "new year's eve|new years eve",
        "valentine": "valentine's day|valentine's|valentines day",
        "halloween": "halloween|hallowe'en",
        "thanksgiving": "thanksgiving|thanksgiving day",
        "independence_us": "independence day|fourth of july",
    },
    parts={
        "early": "early|beginning of|start of|first days of|first half of",
        "mid": "mid|middle of",
        "late": "late|end of|last days of|second half of",
    },
    decades={
        1950: "fifties",
        1960: "sixties",
        1970: "seventies",
        1980: "eighties",
        1990: "nineties",
    },
    counted=(
        "dollars|euros|pounds|bucks|people|users|steps|meters|metres|meter|metre|miles|calories"
        "|words|points|items|pieces|copies|days|hours|times|pages|rows|lines|km|kg|k|m|g|mm|cm"
        "|files|records|requests|customers|employees|tokens|bytes|kb|mb|gb|ms|seconds|minutes"
        "|entries|messages|chunks|tests|units|percent|degrees|feet|inches|euro|usd|eur|volts|watts"
    ),
    future="will|shall|should|ll|going to|gonna",
    past="did|was|were|had",
    habits="every|each|any|most|all|mornings|afternoons|evenings|nights",
    common=(
        "the|what|did|do|does|i|my|me|you|we|was|were|is|of|and|to|which|who|when|where|how|had"
        "|have|has|that|this|it|with|our|your|he|she|they|there|about|an"
    ),
    topicless=(
        "what|did|do|i|we|happened|happen|was|were|is|on|in|at|the|of|that|a|an|my|me|us|our|tell"
        "|about|going|went|go|have|has|had|any|anything|everything|there|up|to|with|it|you|be"
        "|been|doing|done|show|list|all|and|day|days|things|something|say|said|write|wrote|note"
        "|noted|notes|remember|memories|entries|from|for|during|over|back|then|can|which|events"
        "|please|else|between|through|throughout|by|since|before|after|until|around|how|spend"
        "|spent|time|recall|log|logged|record|recorded|diary|journal|talk|talked|summarize"
        "|summarise|summary|last|this|week|month|year"
    ),
    month_leads="efsukqybaohtLPXgd",
    year_leads="esukqybaogdt",
    weekday_leads="f",
    verbs="may|mar|march",
    people="april|june",
    month_first=True,
    is_rolling=True,
)
