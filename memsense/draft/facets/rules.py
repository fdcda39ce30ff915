"""Table of the facet rules: patterns over one English sentence, each with a name and an example.

Precision goes before recall: a wrong facet would rank and be shown as a fact about a person.
tests/quality measures both on labelled sentences.
"""

import re
from dataclasses import dataclass
from typing import Literal

from memsense.draft.facets.model import Facet

# Parts of the patterns. All repetitions have small limits, so that no sentence makes a pattern
# backtrack for long: tests/unit/test_linear_patterns.py and test_facets.py attack them.
_ADVERB = (
    r"(?:(?:really|also|just|still|always|absolutely|do|especially|particularly|personally"
    r"|definitely|truly|actually|finally|recently|already|even|now|both|all|then|once|only"
    r"|totally|kinda|soon|so|probably) )"
)
_I = rf"(?:i|we) {_ADVERB}{{0,2}}"
_AM = rf"(?:i(?:'m| am)|we(?:'re| are)) {_ADVERB}{{0,2}}"
_HAVE = rf"(?:i|we)(?:'ve| have) {_ADVERB}{{0,2}}"
_MY = r"(?:my|our) "
_PEOPLE = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|mother|mom|mum|mama|father"
    r"|dad|papa|parents?|brothers?|sisters?|siblings?|sons?|daughters?|child|children|kids?"
    r"|bab(?:y|ies)"
    r"|twins|grand(?:ma|pa|mother|father|parents|son|daughter|kids|children)|grann?y|aunt(?:ie)?"
    r"|uncle|cousins?|nieces?|nephews?|in-laws?|family|fam|relatives|ex(?:-\w+)?|roommates?"
    r"|flatmate"
    r"|best friend|dogs?|cats?|pupp(?:y|ies)|kittens?|pets?|horse|rabbit|hamster|turtles?)"
)
_WORKPLACE = (
    r"(?:job|boss|employer|company|business|store|shop|studio|startup|start-up|team|career)"
)
_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_PERIOD = (
    rf"(?:weekend|week|month|year|night|summer|winter|spring|autumn|fall|semester|{_DAY}|{_MONTH})"
)
_WHEN = (
    rf"\b(?:yesterday|tomorrow|tonight|the other day|earlier today|today|recently"
    rf"|this (?:morning|afternoon|evening|{_PERIOD})"
    rf"|(?:last|next|past|coming) (?:few |couple of )?{_PERIOD}s?|(?:days?|weeks?|months?"
    rf"|years?) ago"
    rf"|a while (?:ago|back)|on (?:{_DAY}|{_MONTH} \d{{1,2}}|(?:the )?\d{{1,2}}(?:st|nd|rd"
    rf"|th)?(?: of)? {_MONTH})"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}|(?-i:[A-Z][a-z]+) \d{{1,2}}(?:st|nd|rd|th)"
    rf"|in (?:early |late |mid-?)?(?:{_MONTH}|(?:19|20)\d\d)|\d{{4}}-\d\d-\d\d"
    r"|back in (?:the day|high school|school|college|university))\b"
)
_IRREGULAR_PAST = (
    r"(?:went|had|got|saw|met|took|made|did|ate|bought|found|came|gave|began|ran|won|lost"
    r"|left|spent|wrote|read|told|said|sold|built|broke|brought|caught|drove|drew|drank|fell|flew"
    r"|forgot|fought|grew|held|hit|hung|hurt|kept|led|paid|put|quit|rode|sang|sat|sent|set|shot"
    r"|spoke|stood|swam|taught|threw|woke|wore|cut|slept|became|bit|blew|chose|dug|froze|hid"
    r"|laid|lit|rang|shook|stole|struck|swore|tore|split|put|beat|let)"
)
_PARTICIPLE = (
    r"(?:been|gone|done|seen|met|taken|made|eaten|bought|found|come|given|begun|run|won|lost|left"
    r"|spent|written|read|told|sold|built|broken|brought|caught|driven|drawn|fallen|flown|forgotten"
    r"|grown|had|heard|held|hit|kept|led|paid|put|quit|ridden|sent|set|shot|spoken|taught|thrown"
    r"|become"
    r"|chosen|started|moved)"
)
# Verbs whose past states a wish or an opinion, and no event: "we wanted", "I liked".
_STATIVE_ED = (
    r"(?:need|want|expect|lik|lov|hop|wish|seem|believ|suppos|wonder|appreciat|realiz|realis"
    r"|enjoy|car|us"
    r"|worri|interest|excit|agre|ne)"
)
_REGULAR_PAST = rf"(?!{_STATIVE_ED}ed\b)[a-z]{{2,}}ed"
_PAST = rf"(?:{_IRREGULAR_PAST}|{_REGULAR_PAST})\b(?!')"


Anchor = Literal["speaker", "anywhere", "start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Pattern by which a sentence states a facet.

    Attributes:
        name: Name by which the rule can be disabled.
        facet: The facet that a matching sentence states.
        pattern: The pattern; upper and lower case are alike.
        note: An example of a match.
        anchor: Where the pattern is tried: at each first-person word ("speaker"), anywhere in a
            sentence that has one ("anywhere"), or at the start of any sentence, with or without
            a first person ("start").
        in_questions: Whether a question may match.
        mention: Whether a match is only a mention ("my sister"); any other rule then wins when
            the memory kind is chosen.
        user_only: Whether the rule is not applied to the assistant's side.
    """

    name: str
    facet: Facet
    pattern: re.Pattern[str]
    note: str
    anchor: Anchor = "speaker"
    in_questions: bool = False
    mention: bool = False
    user_only: bool = False


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# Most rules skip questions, since "am I a nurse?" states nothing. "health" and "relation" don't:
# "what can I cook, I'm allergic to nuts?" still does.
_PERSONAL_INFO: tuple[Rule, ...] = (
    Rule(
        name="name",
        facet="personal_info",
        pattern=_re(
            r"my (?:full |first |last |nick)?name(?:'s| is)\b|i go by\b"
            r"|i(?:'m| am) (?-i:[A-Z][a-z]+)(?=[,.!]|$| and\b| from\b)"
        ),
        note="my name is Ines; I'm Ines, ...",
    ),
    Rule(
        # "I'm a bit tired" and "I'm a big fan" are moods and likes, no identities.
        name="identity",
        facet="personal_info",
        pattern=_re(
            rf"{_AM}(?:not )?(?:an? (?!bit|little|lot|few|couple|mess|wreck|huge|big|sucker"
            r"|(?:\w+ )?(?:fan|believer|lover)\b)|(?:married|single|divorced|engaged|widowed"
            r"|retired"
            r"|unemployed|pregnant|expecting|bilingual|trans(?:gender)?|gay|lesbian|queer"
            r"|left-handed"
            r"|adopted|self-employed|freelancing)\b)"
        ),
        note="I'm a nurse; we are married",
    ),
    Rule(
        name="role",
        facet="personal_info",
        pattern=_re(
            r"\bas an? (?:\w+ )?(?:parent|mom|mum|dad|mother|father|teacher|nurse|doctor|student"
            r"|engineer|developer|artist|writer|banker|musician|immigrant|veteran|freelancer)\b"
        ),
        note="as a single parent",
        anchor="anywhere",
    ),
    Rule(
        name="age",
        facet="personal_info",
        pattern=_re(
            rf"{_AM}\d\d(?=[,.!]|$| and\b| years\b| now\b)|i (?:just )?turn(?:ed)? \d\d\b"
            rf"|(?:i'll be|{_AM}turning) \d\d\b|my birthday\b|i was born\b"
        ),
        note="I'm 36; I was born; my birthday",
    ),
    Rule(
        name="home",
        facet="personal_info",
        pattern=_re(
            rf"(?:{_I}(?:lived?|grew up|come|was raised|moved) (?:in|at|near|on|from|to|with|here"
            rf"|there|alone|away|back|out)\b|(?:{_AM}living|{_HAVE}(?:lived|been living)) (?:in|at"
            rf"|near|here|with)\b|{_AM}(?:originally )?from\b"
            rf"|{_MY}home ?(?:town|country)\b)"
        ),
        note="I live in; I grew up in; our flat",
    ),
    Rule(
        name="work",
        facet="personal_info",
        pattern=_re(
            rf"{_I}(?:work(?:ed)?|used to work) (?:as|at|for|in)\b|{_AM}working (?:as|at|for)\b"
        ),
        note="I work as; I'm working for",
    ),
    Rule(
        name="belonging",
        facet="personal_info",
        pattern=_re(rf"{_MY}(?:[\w-]+ ){{0,2}}(?:{_WORKPLACE}|flat|apartment|house|address)\b"),
        note="my job, our new store, our flat",
        mention=True,
    ),
    Rule(
        name="study",
        facet="personal_info",
        pattern=_re(
            rf"{_AM}(?:studying|majoring|enrolled|fluent)\b|{_I}(?:study|studied|graduated"
            rf"|majored)(?! hard)\b|{_I}(?:majored"
            rf"|speak)\b|{_MY}(?:degree|major|thesis|school|university|college|phd)\b"
        ),
        note="I'm studying; I graduated; I speak Dutch",
    ),
    Rule(
        name="health",
        facet="personal_info",
        pattern=_re(
            rf"{_AM}(?:allergic|diabetic|asthmatic|vegetarian|vegan|lactose|gluten|celiac"
            rf"|colou?r-?blind"
            rf"|dyslexic|autistic|disabled)\b|{_HAVE}(?:been |was )?diagnosed\b|i was diagnosed\b"
            rf"|i (?:have|suffer from|'ve got) (?:\w+ ){{0,2}}(?:allerg(?:y|ies)|asthma|diabetes"
            rf"|migraines?"
            rf"|reflux|adhd|anxiety|depression|arthritis|insomnia)\b|{_MY}(?:\w+ )?allerg(?:y"
            rf"|ies)\b"
        ),
        note="I'm allergic to; I have asthma",
        in_questions=True,
    ),
    Rule(
        name="household",
        facet="personal_info",
        pattern=_re(
            rf"(?:i|we)(?:'ve got| have| own| got) (?:an?|one|two|three|four|five|\d|no)"
            rf" (?:[\w-]+ ){{0,3}}{_PEOPLE}\b"
        ),
        note="we have two cats; I have a younger brother",
    ),
    Rule(
        name="member",
        facet="personal_info",
        pattern=_re(
            rf"{_AM}(?:an? (?:\w+ )?)?(?:member|part) of\b"
            r"|i(?:'m| am) (?:now )?(?:close )?friends with\b|we(?:'ve| have) been (?:friends"
            r"|together)\b"
        ),
        note="I'm a member of; we've been together",
    ),
    Rule(
        name="relation",
        facet="personal_info",
        pattern=_re(rf"{_MY}(?:[\w-]+ ){{0,2}}{_PEOPLE}\b"),
        note="my little sister, our dog",
        in_questions=True,
        mention=True,
    ),
)

_PREFERENCES: tuple[Rule, ...] = (
    Rule(
        # "I love it!" and "I like that idea" answer the other speaker, and state no lasting like.
        name="like",
        facet="preferences",
        pattern=_re(
            rf"{_I}(?:love|like|enjoy|adore|dig)\b"
            r"(?! (?:it\b|you|how|that\b|this\b|these\b|those\b|them\b|the (?:idea|thought|way"
            r"|look|sound|vibe)\b"
            r"|to (?:see|hear|know|think)\b|what\b|both\b|where\b|every\b|all\b)|[.!,])"
        ),
        note="I love turtles; we enjoy camping",
    ),
    Rule(
        name="dislike",
        facet="preferences",
        pattern=_re(
            rf"{_I}(?:hate|dislike|despise|detest|loathe|(?:can't|cannot|can not"
            rf"|couldn't) (?:stand|bear)"
            r"|(?:don't|do not|didn't|never) (?:really )?(?:like|enjoy|care for"
            r"|trust))\b(?! (?:to say|that)\b)"
        ),
        note="I can't stand coriander",
    ),
    Rule(
        name="fond",
        facet="preferences",
        pattern=_re(
            rf"(?:{_AM}|{_HAVE})(?:not )?(?:an? )?(?:(?:big|huge|massive|more|mostly|very|super"
            rf"|pretty|quite|avid|much|grown) ){{0,2}}"
            r"(?:fan of|into (?!it\b|the (?:room|house))"
            r"|fond of|hooked|obsessed|addicted|keen on|passionate about|crazy about|nuts about"
            r"|partial to|(?:more )?of an? \w+ person|(?:an? )?\w+ (?:lover|person)\b)"
        ),
        note="I'm a big fan of; I'm hooked",
    ),
    Rule(
        name="favourite",
        facet="preferences",
        pattern=_re(
            rf"{_MY}(?:[\w-]+ ){{0,2}}(?:favou?rites?|hobb(?:y|ies)|guilty pleasure|go-to)\b"
        ),
        note="my favourite; one of my favourites",
    ),
    Rule(
        name="prefer",
        facet="preferences",
        pattern=_re(rf"{_I}prefer\b|(?:i|we)(?:'d| would) (?:rather|prefer)\b"),
        note="I prefer; I'd rather swim",
    ),
    Rule(
        # "I always wanted" and "I never knew" tell of the past or of an opinion.
        name="habit",
        facet="preferences",
        pattern=_re(
            r"(?:i|we) (?:(?:even|also|still) )?(?:usually|always|often|normally|typically|tend to"
            r"|sometimes|rarely|regularly|mostly|generally|hardly ever|seldom|never)"
            rf" (?!{_PAST}|(?:knew|thought|felt|meant|was|were|been|wanted|loved|expected|imagined"
            r"|would|could|doubt|feel|think|wonder|know)\b)"
        ),
        note="I usually; we sometimes",
    ),
    Rule(
        name="routine",
        facet="preferences",
        pattern=_re(
            r"\b(?:every|each) (?:single )?(?:day|morning|evening|night|weekend|week|month"
            r"|summer|winter"
            rf"|{_DAY})\b|\b(?:once|twice|(?:few|couple|\w+) times) (?:a|per) (?:day|week|month"
            rf"|year)\b"
            r"|\b(?:sometimes|usually|normally|most (?:days|weeks)),? (?:i|we) "
            rf"(?!(?:even |also |just )?{_PAST})|\b(?:daily|morning|workout|weekly"
            rf"|evening) routine\b|\bon {_DAY}s\b"
        ),
        note="every Thursday; twice a week; my daily routine",
        anchor="anywhere",
    ),
    Rule(
        # "I use it to ..." names no tool; "I've used to" is another verb.
        name="tool",
        facet="preferences",
        pattern=_re(
            rf"{_I}(?:use|rely on|swear by|drive|wear|drink|collect)\b(?! (?:it|that|this|them"
            rf"|to|you)\b)"
            rf"|(?:{_AM}|{_HAVE}(?:been )?)using\b(?! (?:it|that|this)\b)|{_HAVE}used\b(?! to\b)"
        ),
        note="I use vim; I've been using Trello",
    ),
    Rule(
        name="switch",
        facet="preferences",
        pattern=_re(
            rf"(?:{_I}|{_HAVE})(?:switched|stopped|gave up|quit|changed (?:to|from))\b"
            rf"|{_AM}(?:keeping|switching|sticking (?:to|with)|dropping|giving up|converted"
            rf"|done with"
            r"|trying (?!to\b|my\b|hard\b))"
        ),
        note="I switched to; I'm keeping Helix",
    ),
    Rule(
        name="diet",
        facet="preferences",
        pattern=_re(
            rf"{_I}(?:(?:don't|do not|no longer) )?(?:eat|drink|smoke|cook|bake)\b"
            rf"|{_AM}(?:not )?(?:strictly )?(?:vegetarian|vegan|pescatarian)\b"
        ),
        note="I don't eat meat; I'm vegetarian",
    ),
    Rule(
        name="pastime",
        facet="preferences",
        pattern=_re(
            r"i (?:also |still )?(?:play|paint|garden|knit|surf|hike|swim|jog|draw|sing|dance"
            r"|meditate"
            r"|volunteer|ski|climb|sew)\b"
        ),
        note="I play the piano",
    ),
    Rule(
        # A wish about the answers. Assistants use the same words for what they will do, so only the
        # user's side counts.
        name="instruction",
        facet="preferences",
        pattern=_re(
            r".{0,60}\b(?:from now on|in (?:the )?future,? please|please (?:always|never|no"
            r"|don't|keep"
            r"|stick|answer|reply)\b|(?:short|brief|concise) answers|no emojis?\b|call me\b"
            r"|(?<!'ll )(?<!will )(?<!to )keep (?:that|this|it) in mind)"
        ),
        note="from now on please; no emojis (a user's wish about the answers)",
        anchor="start",
        user_only=True,
    ),
)

_EVENTS: tuple[Rule, ...] = (
    Rule(
        # Wishes and conditions did not happen, and "I last talked to you" is about the chat itself.
        name="past",
        facet="events",
        pattern=_re(
            rf"(?<!wish )(?<!if )(?!(?:i|we) (?:last )?(?:talked|spoke|chatted|caught up)\b)"
            rf"{_I}(?:{_PAST}|used to \w+|was (?:in|at|on)\b|were (?:in|at|on)\b)(?! you\b"
            rf"| a (?:real )?difference)"
        ),
        note="I went; we raised funds",
    ),
    Rule(
        name="past_of_mine",
        facet="events",
        pattern=_re(
            rf"{_MY}(?:(?!(?:ha[sd]|have|is|are|was|were|be|been|being|to)\b)[\w-]+ ){{1,3}}"
            rf"(?:{_IRREGULAR_PAST}|died|passed away|was born|graduated|retired"
            r"|broke up|got married|turned|arrived|visited|called|asked|started|moved)\b"
        ),
        note="my mother broke; our trip got off to",
    ),
    Rule(
        name="past_coordinated",
        facet="events",
        pattern=_re(
            r"(?:i|we)\b[^.?!;]{1,60}\b(?:and|then|plus|but)(?: i| we)?"
            rf" (?:then |also |finally )?{_IRREGULAR_PAST}\b"
        ),
        note="I was tired and went home",
    ),
    Rule(
        # "I've been thinking" and "I've been so happy" are states of mind, no events.
        name="perfect",
        facet="events",
        pattern=_re(
            rf"{_HAVE}(?!been (?:\w+ly )?(?:thinking|feeling|meaning|wanting|hoping|there\b"
            rf"|here\b|so\b"
            r"|using)|been (?!\w+ing\b|to\b)|had an?y? (?:great|huge|big)|put our|come to)"
            rf"(?:{_PARTICIPLE}|{_REGULAR_PAST})\b"
        ),
        note="I've developed; we've been volunteering",
    ),
    Rule(
        name="dated",
        facet="events",
        pattern=_re(_WHEN),
        note="last week; on 7 May; two years ago",
        anchor="anywhere",
    ),
    Rule(
        # "I'm going to need" and "I'm getting better" are no plans.
        name="plan",
        facet="events",
        pattern=_re(
            rf"{_AM}(?:(?:going to|gonna) (?!keep|make (?:this|it)\b|be\b|do my\b|need|have to\b"
            rf"|miss\b|love\b)|planning|about to|moving|heading|fly?ing|travell?ing|meeting"
            rf"|starting|joining|hosting|getting (?!better|used|ready|there|closer|more))"
            rf"|{_I}(?:plan|intend|decided)\b|(?:i|we) have (?:an? )(?:\w+ )?(?:appointment"
            rf"|interview|exam"
            r"|meeting|deadline|flight)\b"
        ),
        note="I'm going to; we plan; I have an appointment",
    ),
    Rule(
        name="ongoing",
        facet="events",
        pattern=_re(
            rf"{_AM}(?:currently \w+ing|in the middle of|(?:learning|reading|writing|working on"
            rf"|training"
            r"|preparing|looking for|searching for|researching|building|practi[cs]ing|watching)\b)"
        ),
        note="I'm reading a novel; I'm still looking for a flat",
    ),
    Rule(
        # Messages often leave the "I" out. Assistants do so for their own work ("Fixed the test"),
        # so only the user's side counts.
        name="elided",
        facet="events",
        pattern=_re(
            r"(?:(?:oh|so|well|and|plus|also|yeah|yep|yes|just|recently|finally|then|ok|okay"
            r"|already)[, ]+)"
            r"{0,2}(?:(?:went|bought|met|finished|started|signed|booked|ordered|joined|visited"
            r"|moved|won"
            r"|lost|deleted|fixed|changed|implemented|rehearsed|restored|removed|took"
            r"|had (?!to\b|any\b))\b"
            r"(?! your\b)|been (?!there|a while|so )\w+ing\b|back from\b)"
        ),
        note="Been running longer; Recently started; Booked, reference ...",
        anchor="start",
        user_only=True,
    ),
    Rule(
        name="happened",
        facet="events",
        pattern=_re(r"\bhappened (?:to|for|recently|last)\b|\brecently for (?:me|us)\b"),
        note="something happened to me",
        anchor="anywhere",
    ),
)

RULES: tuple[Rule, ...] = _PERSONAL_INFO + _PREFERENCES + _EVENTS
"""All rules, in the order in which they are tried on a sentence."""

FIRST_PERSON = re.compile(
    r"[Ii]\b(?<!\w.)|(?:[Ww][Ee]|[Mm][YyEe]|[Uu][Ss])\b(?<!\w..)|[Oo][Uu][Rr]\b(?<!\w...)"
)
"""First-person words, at which rules with the anchor "speaker" are tried."""

ASSISTANT_PHRASE = _re(
    r"\b(?:as an ai\b|(?:large )?language model|ai assistant"
    rf"|i(?:'m| am) (?:{_ADVERB}{{0,2}})(?:an? (?:ai|assistant|language|virtual|chatbot|large)"
    rf"|happy to|glad to"
    r"|sorry|unable|able|ready to|here to|not (?:able|sure)|designed|trained)"
    r"|i(?:'ll| will| can| could| can't| cannot|'d| would) (?:be (?:happy|glad)|also |now |not "
    r"|then )?"
    r"(?:be|help|assist|provide|explain|show|walk|guide|give|remind|keep|note|suggest"
    r"|summari[sz]e|check"
    r"|update|write|draft|create|generate|list|include|need|make|use|start|look|add|fix|run"
    r"|implement"
    r"|recommend|advise|avoid|put|run|send|do|ask|watch)\b"
    r"|i (?:\w+ )?(?:recommend|suggest|advise|understand|apologi[sz]e|assume|notice|noticed"
    r"|see that"
    r"|(?:don't|do not) have|have no|agree)\b"
    r"|(?:i(?:'ve| have)?|we(?:'ve| have)?) (?:just |now |already |also )?(?:added|updated|fixed"
    r"|created"
    r"|refactored|removed|included|implemented|adjusted|corrected|replaced|generated|drafted"
    r"|summari[sz]ed|noted|assumed|renamed|defined|listed|marked|configured|outlined)\b"
    r"|my (?:apologies|knowledge|training|recommendation|suggestion|previous|understanding|answer"
    r"|response)\b|let (?:me|us)\b|feel free|i (?:hope|like|love) (?:that|this|it|to help"
    r"|helping)\b"
    r"|we (?:can|could|need|use|call|define|iterate|should)\b)"
)
"""Phrases of assistants about themselves; a sentence with one states no facet on their side."""
