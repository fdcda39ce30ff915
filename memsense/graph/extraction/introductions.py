"""Names that users give themselves: "I'm Ines", "my name is Ines Castro", "call me Ines"."""

import re
from collections.abc import Iterator

from memsense.graph.extraction.words import COMMON

# A name: up to three words with a capital, "de" or "van" between them. The bounds keep the search
# linear.
_WORD = r"(?![a-zà-ÿ\d_])\w[\w'\u2019-]{1,30}"
_NAME = rf"{_WORD}(?:[ ](?:(?:de|da|dos|van|von|der|al|el)[ ]){{0,2}}{_WORD}){{0,2}}"
# "I'm" alone says many other things, so that the sentence has to begin with it, and the name has to
# end it or be followed by where the user comes from.
_INTRODUCTION = re.compile(
    rf"\b[Mm]y (?:(?:first|full) )?name(?:'s|\u2019s| is) (?P<named>{_NAME})"
    rf"|\b[Cc]all me (?P<called>{_NAME})(?=[ ]*(?:[.,;:!?)\n]|$))"
    rf"|(?:^|[.!?,;:\n][ ]?|\b[Hh](?:i|ello|ey) )(?:I'm|I\u2019m|I am) (?P<stated>{_NAME})"
    r"(?=[ ]*(?:[.,;:!?)\n]|$|[-\u2013\u2014]|and\b|from\b|here\b))"
)

# "I'm German" says something else than a name; "my name is German" is one.
_NOT_NAMES = frozenset(
    "afghan african albanian algerian american anglican arab arabic argentine argentinian armenian "
    "asian atheist australian austrian azerbaijani bangladeshi baptist belarusian belgian bolivian "
    "bosnian brazilian british buddhist bulgarian burmese calvinist cambodian canadian catalan "
    "catholic chilean chinese christian colombian conservative croatian cuban czech danish "
    "democrat dutch ecuadorian egyptian english estonian ethiopian european evangelical filipina "
    "filipino finnish flemish french georgian german ghanaian greek guatemalan haitian hindu "
    "hispanic hungarian icelandic indian indonesian iranian iraqi irish israeli italian jain "
    "jamaican japanese jewish jordanian kazakh kenyan korean kurdish kuwaiti labour laotian latina "
    "latino latvian lebanese liberal libyan lithuanian lutheran macedonian malaysian maltese "
    "mennonite methodist mexican moldovan mongolian mormon moroccan muslim nepalese nepali "
    "nigerian norwegian orthodox pakistani palestinian panamanian pentecostal persian peruvian "
    "polish portuguese presbyterian protestant quaker republican romanian russian rwandan saudi "
    "scottish senegalese serbian shia sikh singaporean slovak slovenian somali spanish sunni "
    "swedish swiss syrian taiwanese thai tory tunisian turkish ugandan ukrainian uruguayan vegan "
    "vegetarian venezuelan vietnamese welsh yemeni zimbabwean".split()
)


def find_introductions(text: str) -> Iterator[str]:
    """Yield the names that the writer of an English text gives herself, in their order.

        list(find_introductions("Hi, I'm Ines. I'm German."))  # ["Ines"]

    Args:
        text: What a user says.
    """
    for match in _INTRODUCTION.finditer(text):
        name = match[match.lastgroup or 0]
        if match["stated"] and name.casefold() in _NOT_NAMES:
            continue
        # Capitals alone are a role ("I'm CEO") or shouting.
        if name.split(" ")[0].casefold() not in COMMON and not name.isupper():
            yield name
