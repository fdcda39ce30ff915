"""Words that have a capital and name nothing: openers of sentences, interjections, months, days."""

from memsense.text.words import GENERIC, OPENERS, TITLES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CALENDAR = _words(
    "january february march april may june july august september october november december jan "
    "feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday "
    "saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays mon tue "
    "tues wed thu thur thurs fri sat sun today tomorrow yesterday tonight am pm spring summer "
    "autumn fall winter ad bc utc gmt"
)

INTERJECTIONS = _words(
    "ah aha ahh amen aw aww awww absolutely agreed alas alright awesome bah bingo boo bravo btw "
    "bye cheers congrats congratulations cool cute damn dear definitely duh eek exactly "
    "fantastic fine fyi gee gosh gotcha great ha hah haha hahaha hehe hello hey hi hmm hmmm "
    "hooray huh idk imo incredible indeed jk kudos lmao lol mhm mm mmm nah nice no nope oh ok "
    "okay omg oof ooh oops ouch perfect phew please rofl right shh sorry super sure thanks thx "
    "true tysm ugh uh uhm um way welcome whew whoa whoah woah wonderful woo woohoo wow yay yea "
    "yeah yep yes yikes yo yum yup amazing beautiful brilliant lovely excellent impressive happy "
    "merry"
)

OPENING = _words(
    "according actually additionally again ago ahead all almost alone along already also "
    "although always among another anytime anyway anyways anything apart apparently aren't "
    "around ask asked awful away back bad basically because become becoming before behind being "
    "believe below beneath beside besides best bet better between beyond big both brb bring "
    "bringing but buy by call can't cannot catch catching certainly change changing check "
    "checking choose choosing clearly click come coming compared consider considering could "
    "couldn't couple create created creating currently day days despite didn't different does "
    "doesn't don't doing done down due during each earlier early easy eat eating either else "
    "enjoy enjoyed enjoying enough especially even ever every everybody everyone everything "
    "excited excuse explain far feel feeling feels few finally find finding first five focus "
    "following for forget four fortunately friends from fun further gaining gather generally get "
    "gets getting give given giving glad go goes going gone gonna good got gotta growing guess "
    "guys had hadn't half hang hanging hard has hasn't haven't having hear hearing heard help "
    "helped helping hence here here's highly hold home hope hopefully hoping how's however huge "
    "i'd i'll i'm i've imagine important in inside instead interesting isn't it'd it'll it's its "
    "itself just keep keeping kids knowing last lastly late lately later learned learning least "
    "leave left less let's life like likewise little living long look looking looks losing lost "
    "lots love loved loving luckily lucky made main make makes making many maybe mean meanwhile "
    "meet meeting mental met might mind mine mixed more moreover morning most mostly moving much "
    "must must've my myself nature naturally near nearly need needs neither never new next "
    "nobody none nor normally not note nothing now nowadays obviously off often old once one "
    "only onto open or other others otherwise ours out outside over overall own painting part "
    "people perhaps personally pictures planning play playing plenty plus possibly pretty "
    "probably proud put quick quickly quite rather read reading ready really recently regardless "
    "remembering reminds researching run running same saw see seeing seems seen send sending set "
    "setting several shall sharing she's should shouldn't show showing similarly simply since "
    "small so some somebody somehow someone something sometimes somewhere soon sounds speaking "
    "specifically spend spending stand start started starting stay staying step still stop "
    "strong stuff such supporting take takes taking talk talked talking technically teaching ten "
    "than thank thankfully that'd that'll that's the then there'll there's therefore they'd "
    "they'll they're they've thinking though thought three through thus till time time's to "
    "together told too totally tough toward traveling try trying turn turns two typically under "
    "understand unfortunately unless unlike until up upon use used using usually very via "
    "volunteering wait waiting walking wanna want wanted wants was wasn't watch watched watching "
    "we'd we'll we're we've well went weren't what what're what's whatever when's whenever "
    "where's whether while who'd who's whoever why's will winning wish wishing with within "
    "without won't wondering words work worked working works worth would wouldn't write writing "
    "wrong y'all year years yet you'd you'll you're you've young yours yourself zero dad mom mum "
    "mama papa grandma grandpa daddy mommy mummy son uncle aunt sis bro dude god tv pc ai cd dvd "
    "url id faq asap diy rsvp usb pdf json html http https api sql css xml yaml todo fixme "
    "warning error info debug true false null nan ids i ii iii iv vi"
)

COMMON = GENERIC | OPENERS | TITLES | CALENDAR | INTERJECTIONS | OPENING
"""Words that are no name by themselves, and that begin no name."""

CONNECTORS = _words("of the de del della di da dos das du la le van von der den bin al y e &")
"""Words in lower case that a name may hold between two capitals."""
