"""Words that are no name by themselves: labels of roles, titles, names that are words too.

A question's names and the entities of a memory are found by capitals; these words have them without
being a name.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERIC = _words(
    "user assistant human ai bot chatbot system tool function agent model customer client support "
    "operator speaker participant narrator moderator guest host admin me you i we unknown other "
    "anonymous"
)
TITLES = _words("dr mr mrs ms miss mx prof professor sir madam lady lord rev fr sr jr st")
ALSO_WORDS = _words(
    "will mark may art bill rose grace hope joy faith jack pat sue drew chase dean grant guy "
    "hunter miles nick rich rob skip summer autumn april june august dawn daisy lily iris ivy ruby "
    "amber crystal dot gene jade carol christian earnest frank gay glen holly jay king lance major "
    "max melody merry olive pearl penny peg pierce ray reed robin sandy sky star stone victor "
    "violet ward wade bud buck cliff colt norm herb harmony trinity young page case angel baker "
    "cook mason carter cash chance destiny duke earl ernest flora ginger hazel heather honey "
    "jasmine jewel justice lane lee mercy noble opal piper poppy prince rusty sage savannah stormy "
    "summers sunny tanner true wren winter an al bo do ed go he in is it jo no so us"
)
OPENERS = _words(
    "a about after all am an and any anyone are as at be because been before being between but by "
    "can could did do does doing done during each else ever find for from get give had has have he "
    "her hers him his how i if in into is it its know let like list mention me more most much my "
    "name of on or our please recall remember remind said say says she should show so some tell "
    "than that the their them then there these they thing things think this those to up us was we "
    "were what whats when where which who whom whose why will with would you your"
)
