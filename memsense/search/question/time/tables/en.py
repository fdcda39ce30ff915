"""English words that name times."""

from memsense.search.question.time.tables.table import Table

TABLE = Table(
    months=(
        "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug"
        " september|sept|sep october|oct november|nov december|dec"
    ),
    weekdays="monday tuesday wednesday thursday friday saturday sunday",
    short_weekdays="mon tue|tues wed thu|thur++s fri sat sun",
    seasons="spring++time summer++time autumn|fall winter",
    units=(
        "hour=hour/hours day=day/days week=week|wk|wks/weeks weekend=weekend/weekends"
        " month=month/months quarter=quarter year=year|yr/years 2_week=fortnight++s"
        " 6_month=half_a_year 10_year=decade++s"
    ),
    numbers="a|an|one two three four five six seven eight nine ten eleven twelve",
    ordinals=(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
        " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        " twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth"
        " twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
    ),
    vague="2-2=a_couple_of|couple_of|a_couple|couple 2-4=a_few|few|some 3-5=several",
    roles=(
        "e=in|during|throughout|within|over_the_course_of|in_the_course_of f=on"
        " s=since|ever_since|starting|beginning b=before|prior_to|preceding|earlier_than"
        " a=after|following|later_than u=until|till|up_to|up_until"
        " y=by|as_of|as_at|no_later_than|not_later_than|by_the_end_of"
        " h=for|over|around|about|at|month_of k=between q=from t=to|through|thru &=and |=or"
        " o=of|in_the_year d=the L=last|past|previous|this_past m=before_last P=this|current"
        " X=next|coming|upcoming ^=right|just|immediately|directly|shortly|straight|soon"
        " $=last_time|most_recently|most_recent_time|latest_time"
        " %=first_time|very_first_time|earliest_time A=ago|earlier|back"
        " T=morning|afternoon|evening|night @=street|avenue|square|mr|mrs|ms|miss|dr|prof"
    ),
    named=(
        "0=today|this_morning|this_afternoon|this_evening 1=yesterday|last_night"
        " 2=day_before_yesterday|the_day_before_yesterday|night_before_last|the_night_before_last"
        " -1=tomorrow -2=day_after_tomorrow|the_day_after_tomorrow"
    ),
    tonight="tonight",
    recently="the other day|the other night|the other evening|the other week",
    feasts=(
        "easter=easter|easter_sunday|easter_weekend easter_monday=easter_monday"
        " good_friday=good_friday pentecost=pentecost|whitsun|whit_sunday ascension=ascension_day"
        " christmas=christmas|xmas|christmas_day|boxing_day christmas_eve=christmas_eve"
        " new_year=new_year|new_year's|new_year's_day|new_years_day"
        " new_years_eve=new_year's_eve|new_years_eve"
        " valentine=valentine's_day|valentine's|valentines_day"
        " spring_festival=spring_festival|chinese_new_year|lunar_new_year"
        " mid_autumn=mid-autumn_festival halloween=halloween|hallowe'en"
        " thanksgiving=thanksgiving|thanksgiving_day"
        " independence_us=independence_day|fourth_of_july"
    ),
    parts=(
        "early=early|beginning_of|start_of|first_days_of mid=mid|middle_of"
        " late=late|end_of|last_days_of first_half=first_half_of second_half=second_half_of"
    ),
    decades="1950=fifties 1960=sixties 1970=seventies 1980=eighties 1990=nineties",
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
        "happen+ed+|a|us|tell|going|went|go|any|anything|everything|be|been|doing|done|show|list"
        "|all|day|days|things|something|say|said|write|wrote|note++d+s|remember|memories|entries"
        "|back|then|can|events|please|else|spen+d+t|time|recall|log|logged|record++ed|diary|journal"
        "|talk++ed|summar+ize+ise+y|last|week"
    ),
    month_leads="efsukqybaohtLPXgd",
    year_leads="esukqybaogdt",
    weekday_leads="f",
    verbs="may|mar|march",
    people="april|june",
    month_first=True,
    is_rolling=True,
)
