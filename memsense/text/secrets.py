"""Secrets in texts: keys, tokens, passwords and private passages, and their replacement.

`redact` replaces a secret by its kind, such as `[redacted:aws-key]`. Everything around it stays:
the name of a setting, the user and the host of a URL. `<private>...</private>` leaves nothing.

The table is our own: detect-secrets, the best-kept library, needs requests and PyYAML, takes a
quarter of a second to import, and knows code and configuration, but no sentences.
"""
# ruff: noqa: E501 (tables of expressions)

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from memsense.errors import ConfigurationError
from memsense.text.nearest import did_you_mean

SHORTEST_TOKEN = 16
"""Characters of the shortest key: where no word is as long, no shape of a key can match."""

_LINE_RUN = re.compile(r"[A-Za-z0-9+/]{40}")
_PRIVATE_TAG = re.compile(r"<(/?)private>", re.IGNORECASE)

# Replacement of a secret ------------------------------------------------------------------------

_TEMPLATE = re.compile(
    r"[<\[{(].*|.*[>}]|\$[\w({].*|%\w+%|%[sd]|.*(?:\.\.\.|…|\*\*\*|•••|xxxx).*",
    re.IGNORECASE | re.DOTALL,
)
_FILLER = re.compile(
    r"(?<![a-z])(?:your|my|the|some|insert|replace|put|enter|dummy|fake|changeit|todo|redacted"
    r"|masked|hidden|example|sample)(?![a-z])|change[-_ ]?me|placeholder|your[-_]"
    r"|(?-i:EXAMPLE)|0123456789|1234567890",
    re.IGNORECASE,
)
_FEWEST_CHARACTERS = 4
_LONGEST_NAME = 24
"""Characters of a name in code, such as base64.decodebytes."""


def _is_placeholder(value: str) -> bool:
    """Return whether a value only shows where a secret would stand: `<your-key>`, `sk-...`."""
    return (
        _TEMPLATE.fullmatch(value) is not None
        or len(set(value.lower())) < min(_FEWEST_CHARACTERS, len(value))
        or _FILLER.search(value) is not None
    )


def _is_token(value: str) -> bool:
    """Return whether a value of a key's shape is one: a mixture, and no placeholder."""
    # One in thirty keys of twenty characters has no digit.
    is_mixed = any(it.isdigit() for it in value) or value not in {value.lower(), value.upper()}
    return is_mixed and not _is_placeholder(value)


def _is_mixed(value: str) -> bool:
    # A git SHA has 40 characters, too; a path has no such mixture.
    return (
        any(it.isupper() for it in value)
        and any(it.islower() for it in value)
        and sum(it.isdigit() for it in value) > 1
    )


_CHANGE = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])|[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])")
_FEWEST_CHANGES, _FEWEST_DIGITS = 4, 2


def _is_random(value: str) -> bool:
    """Return whether digits, capitals and small letters change places as in no name or number."""
    return (
        len(_CHANGE.findall(value)) >= _FEWEST_CHANGES
        and sum(it.isdigit() for it in value) >= _FEWEST_DIGITS
        and not _is_placeholder(value)
    )


_PLACEHOLDER_IN_URL = frozenset({"password", "pass", "passwd", "pwd", "pw", "token", "secret"})


def _is_url_password(value: str) -> bool:
    # "user:PASSWORD@host" is how manuals write it; in lower case it may be a real, bad one.
    return not _TEMPLATE.fullmatch(value) and not (
        value.isupper() and value.lower() in _PLACEHOLDER_IN_URL
    )


def _passes_luhn(value: str) -> bool:
    """Return whether the last digit checks the others (ISO/IEC 7812-1, annex B)."""
    digits = [int(it) for it in reversed(value) if it.isdigit()]
    total = sum(digits[::2]) + sum(sum(divmod(2 * it, 10)) for it in digits[1::2])
    return total % 10 == 0 and len(set(digits)) > 1


_IBAN_LENGTHS = dict(
    re.findall(
        r"([A-Z]{2})(\d\d)",
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24"
        "FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32"
        "LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24"
        "RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30",
    )
)
"""Characters of an IBAN by country (SWIFT's IBAN registry)."""


def _is_iban(value: str) -> bool:
    """Return whether an IBAN has its country's length and its check digits (ISO 13616, mod 97)."""
    compact = value.replace(" ", "").replace("-", "").upper()
    digits = "".join(str(int(it, 36)) for it in compact[4:] + compact[:4])
    return len(compact) == int(_IBAN_LENGTHS.get(compact[:2], "0")) and int(digits) % 97 == 1


# Shapes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of one kind of secret.

    A text can only match if one of `triggers` is in it, for those of `ANY_LENGTH` in its lower
    case. The group `value`, or all of the match, is replaced if `check` accepts it or, if there is
    one, the group `body`. A pattern that `begins_with_trigger` is tried there alone: searching all
    of the text takes eight times as long.
    """

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Callable[[str], bool] = _is_token
    begins_with_trigger: bool = False


_START, _END = r"(?<![A-Za-z0-9_])(?:", r")(?![A-Za-z0-9])"
"""Bounds of a key: the characters around it belong to no key."""

_HEX = "[0-9a-f]"
_CHARACTERS = {
    "W{": "[A-Za-z0-9]{",
    "U{": "[A-Za-z0-9_-]{",
    "H{": _HEX + "{",
    "@": _HEX + "{8}(?:-" + _HEX + "{4}){3}-" + _HEX + "{12}",
}
"""Abbreviations in the table of prefixes."""


def _read_prefixed(table: str) -> tuple[Shape, ...]:
    """Return the shapes of a table whose rows are a kind, prefixes, and the expression of the rest.

    A kind of "." is that of the row before. `_CHARACTERS` are abbreviations in the expressions.
    """
    shapes: list[Shape] = []
    for row in filter(None, table.splitlines()):
        kind, *prefixes, rest = row.split()
        kind = shapes[-1].kind if kind == "." else kind
        for letter, characters in _CHARACTERS.items():
            rest = rest.replace(letter, characters)
        pattern = f"{_START}(?:{'|'.join(map(re.escape, prefixes))})(?P<body>{rest}){_END}"
        check = _is_random if kind == "api-key" else _is_token
        shapes.append(Shape(kind, tuple(prefixes), re.compile(pattern), check))
    return tuple(shapes)


PREFIXED = _read_prefixed(
    r"""
private-key AGE-SECRET-KEY-1 [0-9A-Z]{58}
aws-key AKIA ASIA ABIA ACCA [A-Z0-9]{16}
. ABSK bedrock-api-key- [A-Za-z0-9+/]{60,}=*
github-token ghp_ gho_ ghu_ ghs_ ghr_ W{30,255}
. github_pat_ U{36,255}
gitlab-token glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- [A-Za-z0-9_.-]{20,300}
anthropic-key sk-ant- U{16,300}
openai-key sk- (?:proj-|svcacct-|admin-|or-v1-|lf-|None-)?(?=[A-Za-z_-]{0,60}[0-9])(?:W{1}|[_-](?=U{8})){20,300}
slack-token xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- [A-Za-z0-9.-]{10,300}
stripe-key sk_live_ rk_live_ sk_test_ rk_test_ W{10,250}
. whsec_ [A-Za-z0-9+/=]{24,100}
google-key AIza U{35}
. AQ.A U{40,120}
google-oauth GOCSPX- U{24,40}
. ya29. 1//0 U{30,300}
npm-token npm_ W{36}
pypi-token pypi-Ag U{50,500}
sendgrid-key SG. U{16,32}\.U{32,64}
twilio-key SK H{32}
digitalocean-token dop_v1_ doo_v1_ dor_v1_ H{64}
jwt eyJ U{8,4000}\.eyJU{8,8000}\.U{16,2000}
memsense-key ms_ [1-9][0-9]{0,9}_H{12}_U{40,43}
huggingface-token api_org_ W{30,60}
api-key gsk_ xai- r8_ pplx- tvly- hvs. hvb. hvr. s. dckr_pat_ dckr_oat_ lin_api_ lin_oauth_ ntn_ secret_ sbp_ U{24,300}
. shpat_ shpca_ shppa_ shpss_ shptka_ dapi glsa_ glc_ PMAK- sntrys_ sntryu_ sq0csp- sq0atp- sq0idp- U{24,300}[=]{0,2}
. NRAK- NRII- NRJS- NRAA- dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. figd_ figu_ figdr_ nfp_ nfc_ nfo_ nfu_ U{20,300}
. vcp_ vci_ vca_ vcr_ vck_ rnd_ cfut_ cfat_ cfk_ v1.0- HRKU-AA fo1_ napi_ pcsk_ jina_ fc- nvapi- csk- fw_ U{20,300}
. pscale_tkn_ pscale_pw_ pscale_oauth_ sb_secret_ mdb_sa_sk_ tskey- xkeysib- xsmtpsib- ATATT3 ATCTT3 ATBB lsv2_pt_ lsv2_sk_ U{20,400}=?
. phx_ phs_ re_ sgp_ sgs_ slk_ CCIPAT_ CCIPRJ_ bkua_ rubygems_ CLOJARS_ packagist_ pul- tgp_v1_ rpa_ e2b_ wandb_v1_ KGAT_ U{20,300}
. squ_ sqp_ sqa_ CFPAT- WPL_AP1. tfp_ cal_live_ rdme_ fio-u- duffel_live_ shippo_live_ EZAK EZTK FLWSECK- FLWSECK_ aio_ [A-Za-z0-9_.=-]{20,300}
. pnu_ sm_pat_ polar_oat_ tr_prod_ tr_dev_ tr_pat_ signkey-prod- nyk_v0_ crsr_ apify_api_ bb_live_ m0- plat_ hcaik_ U{20,300}
. dt0c01. dt0s01. dt0s16. [A-Z0-9]{20,30}\.[A-Z0-9]{50,80}
. PAT- pat- pat (?:[a-z]{2}[0-9]-@|W{14}\.H{64})
. sl. u\.?U{100,1500}|U{100,1500}
. EAA EAAA AAAAAAAAAAAAAAAAAAAAA U{40,300}|[A-Za-z0-9%]{60,200}
. sk. eyJ[A-Za-z0-9_-]{20,200}\.U{15,60}
. ops_eyJ FlyV1 fm1r_ fm2_ lJPEC U{40,2000}=*
. sha256~ U{43}
. AKCp oy2 cio LTAI AKID AQVN W{20,90}
. access-sandbox- access-production- access-development- sdk- mob- @
. access_token$production$ W{16}\$H{32}
. key- H{32}
. xprv W{100,112}
. nsec1 [a-z0-9]{58}
"""
)
"""Keys that begin with a prefix of their vendor. The vendors document it for scanners of secrets:

age-encryption.org/v1; docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html, "unique
ID prefixes"; docs.github.com/authentication, "GitHub's token formats"; docs.gitlab.com/security/tokens,
"token prefixes"; docs.anthropic.com/en/api; platform.openai.com/docs/api-reference/authentication (others
that speak OpenAI's protocol took over its prefix); api.slack.com/authentication/token-types;
docs.stripe.com/keys and /webhooks; cloud.google.com/docs/authentication/api-keys;
developers.google.com/identity/protocols/oauth2; docs.npmjs.com/about-access-tokens; pypi.org/help, "API
tokens" (a macaroon, whose first field is the host); docs.sendgrid.com/ui/account-and-settings/api-keys;
twilio.com/docs/iam/api-keys (an account's AC... is a name, no secret);
docs.digitalocean.com/reference/api/create-personal-access-token; RFC 7519 (two JSON objects in base64url,
which begin with {" = eyJ, and a signature); memsense/store/access.py.
"""


def _shape(
    kind: str, triggers: str, pattern: str, check: Callable[[str], bool] = _is_token
) -> Shape:
    return Shape(kind, tuple(triggers.split("|")), re.compile(pattern), check)


_KEYS_IN_TEXT: tuple[Shape, ...] = (
    # github.com/go-sql-driver/mysql#dsn-data-source-name; "The Password File" of PostgreSQL
    _shape(
        "url-password",
        "@tcp(|@unix(|:5432:|:6432:",
        r"[\w.-]{1,64}:(?P<value>[^\s:@/]{4,100})(?=@(?:tcp|unix)\()"
        r"|(?<=:[56]432:)[\w*.-]{1,64}:[\w*.-]{1,64}:(?P<last>\S{4,100})",
    ),
    _shape("url-password", "@", r"://(?P<value>[0-9a-f]{32})@", _is_random),  # of Sentry
    # RFC 7468; OpenSSH's PROTOCOL.key; RFC 9580. In JSON, as Google's service accounts have it, the
    # line feeds are written as \n. One that is cut off is redacted as far as its lines go.
    _shape(
        "private-key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        # Not possessive: the `re` of Python 3.11.2 ends such a group too early.
        r"(?P<value>[^-]*(?:-(?!----)[^-]*)*(?=-----END )"
        r"|(?:\s|\\[nr])*+(?:[A-Za-z0-9+/]{40,}+=*+(?:\s|\\[nr])*+)++)",
        lambda value: _LINE_RUN.search(value) is not None,
    ),
    # jedisct1.github.io/minisign; the appendix C of PuTTY's manual, "PPK file format"
    _shape(
        "private-key", "secret key\n", r"secret key\n(?P<value>RWR[A-Za-z0-9+/]{100,250}={0,2})"
    ),
    _shape(
        "private-key",
        "Private-Lines:",
        r"Private-Lines: \d+\s+(?P<value>(?:[A-Za-z0-9+/=]{20,}\s?)+)",
    ),
    _shape(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"(?P<value>[A-Za-z0-9]{6,20}/[A-Za-z0-9/]{10,100})",
    ),
    # learn.microsoft.com/azure/storage/common/storage-configure-connection-string;
    # learn.microsoft.com/entra/identity-platform ("client secret": three characters, a digit, Q~);
    # docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
    _shape(
        "azure-key",
        "AccountKey=|SharedAccessKey=|sig=",
        r"(?:AccountKey=|SharedAccessKey=|[?&]sig=)(?P<value>[A-Za-z0-9+/%]{38,120}={0,2})",
    ),
    _shape("azure-key", "Q~", _START + r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}" + _END),
    _shape(
        "azure-key",
        "AZDO|JQQJ99|AzFu|AzSe",
        _START + r"[A-Za-z0-9_-]{30,80}(?:AZDO|JQQJ99|AzFu|AzSe)[A-Za-z0-9+/_=-]{4,40}" + _END,
    ),
    _shape(
        "aws-secret",
        "X-Amz-S",
        r"X-Amz-(?:Signature|Security-Token)=(?P<value>[A-Za-z0-9%+/=]{40,2000})",
    ),
    _shape("npm-token", "_authToken=", r"_authToken=\s{0,2}(?P<value>[A-Za-z0-9_.+/=-]{16,300})"),
    # huggingface.co/docs/hub/security-tokens
    _shape(
        "huggingface-token",
        "hf_",
        _START + r"hf_[A-Za-z0-9]{30,60}" + _END,
        lambda it: it.lower() != it and not _is_placeholder(it),
    ),
    # core.telegram.org/bots/api#authorizing-your-bot
    _shape("telegram-token", ":AA", _START + r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}" + _END),
    # discord.com/developers/docs/reference#authentication; the first part is the bot's number
    _shape(
        "discord-token",
        ".",
        _START + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}" + _END,
    ),
    _shape(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<value>[A-Za-z0-9_-]{50,100})",
    ),
    # Mailchimp; Mailgun; Terraform Cloud; Asana; Zoho; Firebase
    _shape(
        "api-key",
        "-us|-|.atlasv1.|:|1000.|:APA91b",
        _START
        + rf"{_HEX}{{32}}-us[0-9]{{1,2}}|{_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}"
        + r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,80}|[12]/[0-9]{13,20}(?:/[0-9]{13,20})?:"
        + rf"{_HEX}{{32}}|1000\.{_HEX}{{32}}\.{_HEX}{{32}}|[A-Za-z0-9_-]{{8,24}}:APA91b[A-Za-z0-9_-]{{100,}}"
        + _END,
        _is_random,
    ),
    _shape(  # of BitLocker
        "recovery-codes", "-", r"(?<![\w-])[0-9]{6}(?:-[0-9]{6}){7}(?![\w-])", lambda _: True
    ),
    # The secret that belongs to an AWS key has no prefix: 40 characters near AWS's name or the key.
    _shape(
        "aws-secret",
        "aws|AWS|Aws|secret|SECRET",
        r"(?:aws|AWS|Aws|(?i:secret_?access_?key))[^\n]{0,60}?\s?[^\n]{0,30}?(?<![A-Za-z0-9/+=_.-])"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-]|\.\w)",
        _is_mixed,
    ),
    # RFC 6750, RFC 7617
    _shape(
        "authorization",
        "earer|EARER|asic |uthorization|UTHORIZATION",
        r"(?i:\b(?:bearer|basic|authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:token|apikey|ssws|key)?))"
        r"\s{1,3}[\"']?(?P<value>[A-Za-z0-9._~+/-]{16,4000}={0,2})",
        lambda value: _is_token(value) and (_is_mixed(value) or len(value) > _LONGEST_NAME),
    ),
)
"""Keys by their own shape, all at least SHORTEST_TOKEN long without a blank."""

_URL_PASSWORD = Shape(
    # RFC 3986, 3.2.1: scheme://user:password@host. The last @ before the host counts, because
    # people don't escape those in their passwords.
    "url-password",
    ("://",),
    re.compile(r"://[^\s:/@?#\"'<>`\[]{0,100}:(?P<value>[^\s/\"'<>`]{1,200})@(?=[A-Za-z0-9\[$<{])"),
    _is_url_password,
)
_CARD = Shape(
    # ISO/IEC 7812-1 numbers of the large schemes. Only where the text speaks of a card: one in ten
    # order and tracking numbers of this length has a right check digit.
    "card",
    ("card", "visa", "amex", "cvv", "cvc", "karte", "tarjeta", "carte", "carta", "expir", " exp "),
    re.compile(
        r"(?<![\w.-])(?:(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|6[0-9]{3})(?:[ -]?[0-9]{4}){3}"
        r"|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5})(?![\w-]|\.[0-9])"
    ),
    _passes_luhn,
)
_IBAN = Shape(
    # A class of characters at its beginning, so that the search skips all others in C.
    "iban",
    ("",),
    re.compile(
        r"[A-Z](?<![A-Za-z0-9].)[A-Z][0-9]{2}(?:[A-Z0-9]{11,29}"
        r"|(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,3})?)(?![A-Za-z0-9])"
    ),
    _is_iban,
)
_NAMED_IBAN = Shape(
    "iban",
    ("iban",),
    re.compile(
        r"(?i:iban)[^\n]{0,20}?(?<![a-z0-9])(?P<value>[a-z]{2}[0-9]{2}(?:[ -]?[a-z0-9]{1,4}){3,8})\b"
    ),
    _is_iban,
    begins_with_trigger=True,
)
_MAYBE_KEY = re.compile(r"(?<![A-Za-z0-9/+_=-])[A-Za-z0-9/+_=-]{16}")
"""The beginning of a run of a key's characters."""
_COMMAND = Shape(
    # The manuals of these programs: options that take a password, or a user and a password.
    "password",
    (
        *"curl wget lftp sshpass mysql mariadb redis-cli smbclient mongo docker podman helm twine".split(),
        *"skopeo ldap openssl zip 7z sqlcmd /pass keytool htpasswd rabbitmqctl wpa_passphrase".split(),
        *(
            "az login",
            "oc login",
            "net use",
            "net user",
            "echo ",
            "http -a",
            "freerdp",
            "rclone",
            "vault",
        ),
    ),
    re.compile(
        r"(?:(?:curl|wget|http|lftp)\b[^\n|]{0,120}? (?:-u|--user|--auth|-a)[ =]?[\"']?[\w.@+-]{1,64}[:,]"
        r"|sshpass -p ?[\"']?|(?:mysql|mariadb)\w{0,6}\b[^\n|]{0,80}? -p[\"']?"
        r"|redis-cli\b[^\n|]{0,60}? -a [\"']?|smbclient\b[^\n|]{0,80}? -U [\"']?[\w.\\-]{1,64}%"
        r"|(?:mongo\w{0,7}|docker|podman|az|helm|twine|oc|skopeo)\b[^\n|]{0,120}? -p[ =]?[\"']?(?!\d+:)"
        r"|ldap\w{3,8}\b[^\n|]{0,120}? -w [\"']?|openssl\b[^\n|]{0,120}? (?:-pass(?:in|out)? ?[\"']?pass:|-k )[\"']?"
        r"|zip\b[^\n|]{0,40}? -P ?[\"']?|7z\b[^\n|]{0,40}? -p[\"']?|sqlcmd\b[^\n|]{0,80}? -P ?[\"']?"
        r"|net use\b[^\n|]{0,80}? /user:\S{1,64} [\"']?|/pass(?:word)?:[\"']?"
        r"|net user [\w.-]{1,64} [\"']?(?![/*])|keytool\b[^\n|]{0,120}? -(?:store|key)pass [\"']?"
        r"|htpasswd -\w{0,4}b\w{0,4} \S{1,64} \S{1,64} [\"']?|rabbitmqctl add_user \S{1,64} [\"']?"
        r"|freerdp\b[^\n|]{0,120}? /p:[\"']?|(?:rclone obscure|vault login) [\"']?|wpa_passphrase [\"']?\S{1,32} [\"']?|echo [\"']?(?=\S{4,64} ?\| ?sudo -S)"
        r"|echo [\"']?[\w.-]{1,64}:(?=[^\n|]{4,64}\| ?(?:sudo )?chpasswd))"
        r"(?P<value>[^\s\"'`|]{4,100})"
    ),
    lambda value: not _is_placeholder(value) and not value.startswith(("-", "$", "http")),
    begins_with_trigger=True,
)
_COOKIE = Shape(
    # RFC 6265: each pair of a header Cookie, and the first of a header Set-Cookie.
    "cookie",
    ("cookie",),
    re.compile(
        r"(?:(?i:cookies?[\"']?(?:[:=]|\s)\s?[\"']?)|;\s?)[\w.-]{1,60}=(?P<value>[^\s;\"'&,\[]{8,4000})"
    ),
    _is_random,
)
_CODES = Shape(
    "recovery-codes",
    (
        *"recovery backup 2fa mfa rescue emergency wiederherstellungs".split(),
        *("de récupération", "de secours", "de recuperación", "de respaldo"),
    ),
    re.compile(
        r"(?i:(?:recovery|backup|rescue|2fa|mfa|emergency|wiederherstellungs|de récupération"
        r"|de secours|de recuperación|de respaldo)[ -]?(?:codes?|keys?|(?=:)))(?i:[^\n:;.,]{0,40}?|[^\n:;.]{0,80}(?=:))?"
        r"(?:[:=]| is| are| sind| ist| sont| est| son| es)?[\s\-*\"'`(]{1,4}(?:1[.)] ?)?(?P<value>"
        r"(?:(?:(?:[,;/]|\s?\n)?(?: and)?[\s\-*]{1,4}(?:[0-9]{1,2}[.)] ?)?)?(?=[A-Za-z-]{0,40}[0-9]|[A-Z]{4,}-)"
        # Possessive: a hyphen may join two parts of a code or stand before the next code.
        r"[A-Za-z0-9]{4,12}+(?![A-Za-z0-9])(?:-[A-Za-z0-9]{4,12}+(?![A-Za-z0-9])){0,8}+){1,20}+)"
    ),
    lambda value: sum(it.isalnum() for it in value) >= _SHORTEST_KEY,
    begins_with_trigger=True,
)
_TOTP = Shape(
    # RFC 6238's secrets in base32, often written in groups of four.
    "secret",
    ("totp", "2fa", "otp", "authenticator", "mfa", "setup key", "einrichtungsschlüssel"),
    re.compile(
        r"(?i:(?:(?:totp|2fa|otp|authenticator|mfa)\b[^\n]{0,30}?(?:secret|key|seed)|setup key|einrichtungsschlüssel)\b[^\n]{0,30}?)[\s:=\"'`]"
        r"(?P<value>[A-Z2-7]{16,64}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15})(?![A-Za-z0-9])"
    ),
    lambda value: value.isupper() or any(it.isdigit() for it in value),
    begins_with_trigger=True,
)
_TWELVE = (
    "12 words|24 words|twelve words|12 wörter|24 wörter|12 mots|24 mots|12 palabras|24 palabras"
    "|frase semilla|frase de recuperación"
)
_SEED = Shape(
    # BIP-39: 12 to 24 words of 3 to 8 letters, without articles and pronouns.
    "seed-phrase",
    ("seed", "mnemonic", "phrase", "wallet", *_TWELVE.split("|")),
    re.compile(
        r"(?i:(?:seed|mnemonic|phrase|wallet|" + _TWELVE + r")\b[^\n]{0,60}?[\s:\"'=]{1,3})"
        r"(?:\d\.? ?)?(?P<value>\b(?!(?:the|and|for|are|was|has|had|not|but|with|from|your|our|its|his|her|have"
        r"|been|were|which|who|should|could|would)\b)[a-z]{3,8}(?:[\s,]{1,2}(?:\d{1,2}[.)]? ?)?(?!(?:the|and|for"
        r"|are|was|has|had|not|but|with|from|your|our|its|his|her|have|been|were|which|who|should|could"
        r"|would)\b)[a-z]{3,8}\b){11,23})"
    ),
    lambda value: len(set(value.split())) > SHORTEST_TOKEN // 2,
    begins_with_trigger=True,
)
_LOGIN = Shape(
    # A user and a password in one line: "login: ada / hunter2-Zebra", "ada@example.org / hunter2-Zebra".
    "password",
    (
        *"user login log-in sign-in creds credentials account zugang benutzer usuario identifiant".split(),
        *(
            "log in",
            "sign in",
            "anmeld",
            "wifi",
            "wi-fi",
            "wlan",
            "ssid",
            "@",
            "admin:",
            "root:",
            "admin / ",
            "root / ",
        ),
    ),
    re.compile(
        r"(?i:(?:user(?:name)?s?|log[ -]?in|sign[ -]?in|creds?|credentials?|account|benutzer(?:name)?"
        r"|zugang(?:sdaten)?|usuario|identifiants?|anmeld\w{2,8}|wi-?fi|wlan|ssid)(?:\s?/\s?(?:pass|pw|p)\w{0,6})?"
        r"(?: (?:is|are|with|as|ist|sind|mit|es|est|sont|for|to)(?: [\w.'-]{1,20}){0,3}?)?[ ]{0,2}[:=]?[\s(]{1,2}[\"'`]?"
        r"[\w.@+-]{2,64}|@[\w-]{1,60}\.[\w.-]{2,60}|\b(?:admin|root)(?=:| / ))[\"'`]?(?:\s?[/:|,]\s?|(?i: (?:and|und|et|y|with|mit|avec|con|&|-) ))"
        r"(?i:(?:the )?(?:pass(?:word)?|pw|pwd|passwort)[ :=]{0,3})?[\"'`]?(?P<value>[^\s\"'`,;|<>()\[\]]{6,64})"
    ),
    lambda value: (
        _is_strong(value.rstrip(_TRAILING))
        or (_SIGN.search(value) is not None and _is_joined(value.rstrip(_TRAILING)))
    ),
    begins_with_trigger=True,
)
_ENTERED = Shape(
    # "gpg asks for a passphrase, I type ...", "at the alarm, enter 4821"
    "password",
    (
        "password",
        "passphrase",
        "passwort",
        "gpg",
        "ssh",
        "sudo",
        "alarm",
        " asks",
        "asking",
        "keypad",
    ),
    re.compile(
        r"[^\n]{3,70}?\b(?i:types?|typed|enter(?:ed)?|tippe|gebe|typing|entering)(?i: in)? [\"'`]?"
        r"(?P<value>(?!(?:19|20)[0-9]{2}\b)[0-9]{4,8}|(?:(?!(?i:the|my|a|an|it|your|in|this|at|on|to|by)\b)[^\s\"'`,;.:]{1,30} ){0,5}?"
        r"(?=[^\s,;.:]{0,30}[0-9])[^\s\"'`,;.:]{2,30})"
        r"(?=[\"'`]?(?:[.,;!?)#]|\s*(?:\n|\Z)| (?:and|but|then|every|each|all|ein|und|at|on|to)\b))"
    ),
    lambda it: (
        (it.isdecimal() or any(map(str.isalpha, it))) and not _KNOWN_WITH_DIGITS.fullmatch(it)
    ),
    begins_with_trigger=True,
)
_MY_LOGIN = Shape(
    "password",
    ("login is ", "log-in is ", "login ist ", "login: "),
    re.compile(
        r"(?i:log-?in(?:: | is | ist ))[\"'`]?(?P<value>[^\s\"'`,;@/|]{8,64})(?=[\s,;.\"'`]|\Z)"
    ),
    lambda value: _is_strong(value.rstrip(_TRAILING)),
    begins_with_trigger=True,
)
_UNLOCKING = Shape(
    # A PUK has 8 digits (3GPP TS 11.11). Screens and codes that were sent.
    "pin",
    ("puk", "unlock", "entsperr", "lockbox", "keybox", "opens with", "texted", "sms", "sent me"),
    re.compile(
        r"(?i:puk\b[^\n]{0,60}?(?<![\w.-])(?P<value>[0-9]{8})(?![\w.-])"
        r"|(?:unlocks?|entsperr\w{0,8}|lockbox|keybox|opens(?= with))(?: code| pin| du| man)?(?: is| ist|:| with| mit)? (?P<screen>[0-9]{4,8})(?=[.,;!#]|\s*\Z)"
        r"|(?:texted|sms|sent me)\b[^\n]{0,40}?(?<![\w.,-])(?P<sent>[0-9]{3}[ -]?[0-9]{3})(?![\w-])[^\n]{0,12}?\bcode)"
    ),
    lambda _: True,
    begins_with_trigger=True,
)
ANY_LENGTH: tuple[Shape, ...] = (
    *(_URL_PASSWORD, _COMMAND, _COOKIE, _TOTP, _CODES, _SEED, _CARD, _IBAN, _NAMED_IBAN, _LOGIN),
    *(_MY_LOGIN, _ENTERED, _UNLOCKING),
)
"""Secrets that may be shorter than a key."""


def _is_strong(value: str) -> bool:
    """Return whether a value looks like a password and like no word, number, date or address."""
    has_sign = any(it in "!#$%&*+?^~@" for it in value)
    return (
        any(it.isdigit() for it in value)
        and any(it.isalpha() for it in value)
        and (has_sign or (value.lower() != value and len(value) >= _SHORTEST_KEY))
        and not _is_placeholder(value)
        and not _CODE.fullmatch(value)
    )


_JOINED = re.compile(r"[^\W\d]+(?:(?:[!#$%&*+?^~@-]|\.(?=[A-ZÀ-ÞА-ЯЁ]))[^\W\d]+)*[!?#*+]?")
_PART = re.compile(r"[^\W\d_][^\W\d_A-ZÀ-ÞА-ЯЁ]*")
_SHORTEST_PART = 3
_SIGN = re.compile(r"\w[!#$%*+?^~_]\w")
"""A sign that joins no words in prose: a hyphen, a point and "&" do."""


def _is_joined(value: str) -> bool:
    """Return whether words are joined as in no prose: Sunflower!Tractor, quietLanternMoss."""
    if not _JOINED.fullmatch(value) or value == value.lower():
        return False
    parts = [it.lower() for it in _PART.findall(value)]
    is_name = value[:1].isupper() and value.isalpha()  # GitHub, StackOverflow
    return (
        len(parts) > 1 + is_name
        and ("." not in value or value[:1].isupper())
        and all(
            len(it) >= _SHORTEST_PART and it not in _NO_SECRET and not it.endswith(_ENDINGS)
            for it in parts
        )
    )


# Passwords and keys after their name -------------------------------------------------------------

_OTHER_NAMES = (
    "wachtwoord|hasł|hesl|lösenord|adgangskode|passord|salasana|parool|parola d'ordine|parola chiave|palavra-passe"
    "|jelsz|lozink|şifre|парол|mật khẩu|kata sandi|סיסמ|كلمة المرور|كلمة السر|पासवर्ड|รหัสผ่าน|密码|密碼|パスワード|비밀번호"
)
"""Words for a password, or their beginnings where endings follow: of languages whose verbs follow, too."""

ANCHORS = (
    *"pass pasw pw psk mdp secret token key auth dsn credential kennwort losungswort codewort zugangscode pin пин код 暗証番号 puk code código cvv cvc".split(),
    *"otp combination kombination schlüssel geheim clé clave chave chiave jeton contraseña contrasena senha cookie parola κωδικ".split(),
    *_OTHER_NAMES.split("|"),
)
"""Beginnings of names of secrets, in lower case; `key` is the end of one, such as api_key."""

_ASCII_ANCHORS = tuple(filter(str.isascii, ANCHORS))

_NAMED = re.compile(
    r"""
    (?:
        (?P<password>pass?(?:word|wrod)s?|pass(?:wd|[ -]?phrase|code|wort)s?|(?<=phrase[ ]de[ ])passe|frase[ ]de[ ]contraseña|(?<=[a-z0-9]_)pass|(?<=de\ )passe|pwd
            |(?<![a-z])pw(?![a-z])|kennwort|losungswort|codewort|zugangscode|contraseña|contrasena|senha
            |(?P<other>(?:OTHER)\w{0,4}))
      | (?P<weak>(?<![a-z])(?:pass|psk|mdp|clave|key[ ]phrase|parola|κωδικ\w{1,3}|credentials?|auth|dsn)(?![a-z])|geheim(?:wort|code))
      | (?:(?<![a-z\u0430-\u0451])|(?:(?<=tür)|(?<=digi)|(?<=alarm))(?=code))(?P<pin>pin(?:[ -]?(?:code|number|nummer))?|pincode|cv[vc]2?(?:[ ](?:code|number))?|(?<=security[ ])code(?=[ ]on[ ]the[ ]back)|puk|geheimzahl|пин(?:-?код)?|暗証番号|otp|code|код|código|[ck]ombination)(?![a-z\u0430-\u0451])
      | (?P<key>secret(?:[_ -]?(?:access[_ -]?)?key)?|token|key|schlüssel|clé|clave(?=[ ]api)|chave|chiave|jeton|(?<=[a-z0-9]_)cookie)
        (?:[ ](?:d'|de[ ]|da[ ])?api)?
    )
    (?:_(?:base|b64|hex|prod|production|dev|staging|live|test|value|string))?[0-9]{0,2}["'`*\]]{0,3}(?:[ ](?:wi-?fi|wlan))?
    (?:
        # An assignment: password = "...", "api_key": "...", --password=...
        (?:[ ](?:OF)(?:[ ][\w.@'-]{1,30}){1,5}?)?
        [ \t]{0,3}(?P<sign>:=|=>|={1,2}|[:\uff1a]|(?<=[ ])[-\u2013\u2014](?=[ ]))
        \*{0,2}[ \t]{0,4}\n?[ \t>]{0,4}
        # A sentence: the password for staging is ...
      | (?:[ ](?:OF)[ ](?:[\w.@'-]{1,30}[ ]){1,5}?|[ ]?)
        (?P<verb>'s|c'est|is|was|are|will[ ]be|should[ ]be|remains|stays|has[ ]been[ ](?:changed|set|reset)[ ]to
            |(?:changed|set|reset|updated)[ ]to|ist|lautet|heißt|heisst|bleibt|es|est|este|é|è|to|of
            |(?(other)(?:är|er|je|jest|on|là|adalah)|(?!))|(?P<joined>这是|是|は|는|은|が))
        (?:[ ](?:now|still|currently|jetzt|ahora|maintenant))?(?(joined)[ :]{0,3}|[ :]{1,3})
        # The name alone, as on a command line: --password ...
      | (?:[ ](?:от|для|из)[ ][\w-]{1,30})?(?P<blank>[ ]{1,2}\(?)
    )
    (?:"(?P<double>[^"\n]{1,200})"|'(?P<single>[^'\n]{1,200})'|`(?P<ticks>[^`\n]{1,200})`
      |[«»„“](?P<guillemets>[^«»„“”\n]{1,200})[«»“”]
      # A text without blanks goes on after the value: パスワードはtanuki-88です.
      |(?P<bare>[^\s"'`<,;|\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uffef]{1,200}))
    """.replace("OTHER", _OTHER_NAMES.replace(" ", "[ ]")).replace(
        "OF",
        "for|to|of|on|at|in|from|de|für|vom|von|der|del|du|da|do|di|para|pour|van|voor|от|для|из",
    ),
    re.IGNORECASE | re.VERBOSE,
)
_KEY_OWNER = re.compile(
    r"(?:api|access|auth|private|signing|encryption|master|account|service|admin|my|our|license|product|activation"
    r"|wi-?fi|wlan|webhook)[_ -]?\Z",
    re.IGNORECASE,
)
_NO_OWNER = re.compile(
    # A cursor of a list, the tokens of language models, and keys that open nothing.
    r"(?:page|next|continuation|prev|cursor|max|cancellation|end|start|eos|bos|pad|sep|public|pub|primary"
    r"|foreign|cache|sort|partition|idempotency|dedup|hash|object|row|routing|group|publishable|s3|registry"
    r"|storage|i18n|translation|registry|map|dict|config)[_ -]?\Z",
    re.IGNORECASE,
)
_LONGEST_OWNER = 14
_IS_UUID = re.compile(_CHARACTERS["@"], re.IGNORECASE)
_CODE_OWNER = re.compile(
    r"\b(?:door|gate|safe|security|access|entry|entrance|locke?r?|garage|unlock|vault|keypad|phone|buzzer|sms"
    r"|verification|confirmation|one[- ]time|login|2fa|otp|building|bike|suitcase|house|apartment|flat|office|gym|atm"
    r"|card|bank|debit|credit|sim|voicemail|intercom|keybox|lockbox|disarm|i?pad|iphone|tablet|laptop|screen|shed"
    r"|(?:haus|wohnungs)?tür(?:code)?|alarm(?!ing|ed)\w{0,8}|tresor|tor|digicode|coffre|entrée|interphone|смс|домофон\w{0,3}|двер\w{0,3}|подъезд\w{0,3}|сейф\w{0,3}|karten?|konto|handy|porte|carte|immeuble|puerta|tarjeta|acceso|seguridad"
    r"|sécurité|portail|móvil)\b",
    re.IGNORECASE,
)
_WIFI = re.compile(r"wi-?fi|wlan|router|fritz", re.IGNORECASE)
_DOOR_CODE = re.compile(r"[A-F]?[0-9]{2,6}[A-F]?[0-9]{0,4}")
_CODES_OF_ANYTHING = frozenset({"code", "код", "código", "combination", "kombination"})
_LONGEST_CLAUSE = 24
_USER_BEFORE = re.compile(
    r"(?:user\w*|login|log[ -]?in|account|ssid|network|benutzer\w*|usuario|identifiant|utente)(?:[ :=]{1,3}| is | as )\S{1,64}[ ,;/]{1,3}(?:and |with |und |et |y |e )?(?:the )?\Z",
    re.IGNORECASE,
)
_LONGEST_BEFORE = 90
_REVERSED = re.compile(
    # "use Tr0ub4dor&3 as the password", "hunter2! is my wifi password"
    r" (?:(?:is|was|ist|est|es) (?:my|the|our|your|his|her|their|meine?|unsere?|das|die|mon|notre|le|mi|la)"
    r"|as(?: (?:my|the|our|a))?|als) (?:[\w-]{1,20} ){0,3}"
    r"(?:pass(?:word|phrase|code|wort)|pw|kennwort|mot de passe|contraseña|(?P<pin>pin|(?:security|verification|login|access|confirmation|one-time|door|alarm)[ ]code))\b",
    re.IGNORECASE,
)
_LONGEST_REVERSED = 80
_LONGEST_PIN = 9
_DIGITS_OF_ONE_TIME_CODE = 6

_CODE = re.compile(
    # A name, an attribute, a call, an element, a path: what a program reads, not what it holds.
    r"[!&*]?[A-Za-z_$][\w$]*(?:(?:\?\.|\.|->|::)[A-Za-z_$][\w$]*)+(?:[(\[{].*)?"
    r"|[A-Za-z_$][\w$.:]*[(\[{].*|\.{0,2}/.*|~/.*|\w+://.*|[@&+=:].*|!\w+",
    re.DOTALL,
)
_IDENTIFIER = re.compile(
    r"[A-Za-z]+(?:_[A-Za-z]+)+|[A-Za-z][a-z]+(?:[A-Z][a-z]+)+|[A-Z]+(?:[-_][A-Z]+)*"
)
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)?")
_KNOWN_WITH_DIGITS = re.compile(
    r"(?:sha|md|oauth|base|utf|argon|pbkdf|scrypt|bcrypt|v|rfc|http|2fa|mfa|aes|rsa|web|s|ec|py)"
    r"-?[0-9.]{1,5}\w{0,2}"
    r"|[0-9]{1,6}(?:st|nd|rd|th|fa|x|d|h|m|s|min|days?|k|characters?|chars?|-\w+)"
    r"|[0-9]{1,3}|1password|lastpass",
    re.IGNORECASE,
)
_ENDINGS = tuple("ed ing able ible ly ory ional ent less ous ive".split())
_NO_SECRET = frozenset(
    """
    a above account admin-only already always an and any are as at auth authenticate back bad
    base based bcrypt be been below blank bool boolean both broken but by bytes can cancel case
    change char chosen clear confirm correct credentials das days der die different do does easy
    eight ein eine elsewhere email empty enough enter erforderlich fair falsch false field file
    fine first five for forgot form found four free from given going gone good great had half
    hard has hash hashes have he her here hidden him his hours how i if important impossible in
    incorrect input int integer into invalid is it its just kept key keys known last later leer
    length let like login long longer lost manager managers max may md me min minutes missing
    more most mostly must muy my name need never new next nicht nil no none not now null number
    oauth object obligatoria of off offline ok okay old on one online only optional or our out
    over pass passphrase passwd password passwords per plaintext policy possible private prompt
    protected public pw pwd que random ready really repeat reset resets richtig right safe same
    scrypt second secret secrets secure sehr sensitive sent set sha she short shorter should
    shown simple size so some something somewhere static still stolen str string strong stronger
    stuck submit such sure taken text than that the their them then there these they this those
    three time times to token tokens told too tricky true twelve two type un una undefined under
    unique unknown unsafe up us use used user username utf valid value values varchar variable
    very via visible vital void was we weak welcome well were what when where which who why will
    with written wrong yes yet you your yours zu
    """.split()
)
"""Words that follow the word password and are none."""

_PHRASE = re.compile(r"[^\W\d_]{1,14}(?:[ -][^\W_]{1,14}){1,11}(?=[.,;!)]| \(|\s*(?:\n|\Z))")
_PROSE = frozenset(
    """
    always an any are as at be been being but by can case change do does easy enough field for from good
    has have her here his how if impossible invalid is it its just kept least like long lost may missing
    more must need never new no none not nothing now of off on one only or other our out own per quite random
    really reset safe same should so some something strong than that their then there these they this to too
    until use valid very was weak what when where which who why will with wrong yet you your
    als immer nicht noch wie wieder comme pas plus que trop demasiado más muy
    broken chosen found given gone known sent stolen taken told written
    """.split()
)
_VERBS = frozenset("is are be must should was were has will can".split())
"""Words by which several words after a password's name are a sentence, and no passphrase."""
_STRONG = re.compile(
    r"(?<![^\s\"'`(:=])(?=[^\s]{0,40}[!#$%&*+?^~@])[A-Za-z][\w!#$%&*+?^~@-]{7,40}(?![^\s\"'`),.;:!?])"
)
"""A word with signs: near the name of a password it is one."""
_NEAR_NAME = re.compile(
    r"(?:pass(?:word|wort|phrase|code|wd)|kennwort|contraseña|pw|de passe|mdp|(?P<pin>pin|cvv2?|cvc2?|code))(?!\w| manager)",
    re.IGNORECASE,
)
_AFTER_CLAUSE = re.compile(
    r"[^\n.!?;:=0-9(]{2,60}?(?: is|:| =| ist| es| est| →|(?P<new> (?:changed|set|reset) it to))(?: still| now)? [\"'`]?(?P<value>[^\s\"'`,;|(<]{6,64})"
    r"(?=[\"'`]?(?:[.,;!?)]|\s*(?:\n|\Z)| (?:and|for|but|on|if|so|in case|now|today|und|jetzt|et|y)\b))"
)
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_NUMBER = re.compile(
    r"[^\n!?;0-9]{1,40}?(?<![\w.,/:+#-])(?P<value>[0-9]{3,8})(?![\w%]|[.,:/-][0-9]| ?[VAk]\b"
    r"| (?!and\b|for\b|then\b|but\b|to\b|if\b|when\b|on\b|at\b|in\b|as\b|fyi\b|und\b|et\b|y\b)\w)"
)
_TRAILING = ".,;:)]}>\"'`*#"
_SHORTEST_PASSWORD = 4
_SHORTEST_KEY = 8
_SHORTEST_BARE_KEY = 12
_SHORTEST_WEAK = 6
_BARE_KEYS = frozenset("key schlüssel clé clave chave chiave".split())


def _find_phrase(match: re.Match[str]) -> str:
    """Return the passphrase without quotation marks after its name; empty if there is none.

    No sentence has these words between them: "correct horse battery staple".
    """
    if not match["password"] or match["blank"] or match["bare"] is None or match["verb"] == "of":
        return ""
    phrase = _PHRASE.match(match.string, match.start("bare"))
    words = phrase[0].lower().replace("-", " ").split() if phrase else []
    fewest = 2 if "phrase" in match["password"].lower() else _FEWEST_CHARACTERS
    # Someone who writes "passphrase" means several words, whichever.
    judged = words if fewest == _FEWEST_CHARACTERS else [*words[:2], *_VERBS.intersection(words)]
    is_prose = not _PROSE.isdisjoint(judged) or any(word.endswith(_ENDINGS) for word in judged)
    return phrase[0] if phrase and len(words) >= fewest and not is_prose else ""


def _find_near(text: str, start: int) -> tuple[str, int, str] | None:
    """Return a password with signs, or a PIN, that is further behind its name.

    Returns kind, place and value; None if there is none.
    """
    name = _NEAR_NAME.match(text, start)
    if name is None:
        return None
    line = text.find("\n", name.end() + 1)
    end = min(len(text) if line < 0 else line, start + _LONGEST_BEFORE)
    if not name["pin"]:
        after = _AFTER_CLAUSE.match(text, name.end(), end)
        value = after["value"].rstrip(_TRAILING) if after else ""
        is_mixed = any(it.isdigit() for it in value) and any(it.isalpha() for it in value)
        is_code = _CODE.fullmatch(value) or _KNOWN_WITH_DIGITS.fullmatch(value)
        is_long = is_mixed and len(value) >= _SHORTEST_WEAK
        is_new = after and after["new"] and _is_joined(value)
        if after and (is_new or (is_long and not is_code)) and not _is_placeholder(value):
            return "password", after.start("value"), value
        for match in _STRONG.finditer(text, name.end(), end):
            value = match[0].rstrip(_TRAILING)
            if _is_strong(value):
                return "password", match.start(), value
        return None
    number = _NUMBER.match(text, name.end(), end)
    is_card = name[0].lower().startswith("cv")
    before = text[max(0, start - _LONGEST_CLAUSE) : start]
    is_named = is_card or name[0].startswith("PIN") or _CODE_OWNER.search(before + name[0])
    if number is None or not is_named or _YEAR.fullmatch(number["value"]):
        return None
    is_long = len(number["value"]) >= _SHORTEST_PASSWORD - is_card
    return ("pin", number.start("value"), number["value"]) if is_long else None


def _read_named(text: str, start: int) -> tuple[str, int, str] | None:
    """Return kind, place and value of the secret after its name; None if there is none."""
    match = _NAMED.match(text, start)
    if match is None:
        return None
    kind = "password" if match["pin"] is None else "pin"
    if match["key"]:
        if _NO_OWNER.search(text, max(0, start - _LONGEST_OWNER), start):
            return None
        kinds = {"token": "token", "jeton": "token"} | dict.fromkeys(_BARE_KEYS, "api-key")
        kind = kinds.get(match["key"].lower(), "secret")
    group = cast("str", match.lastgroup)
    value = match[group].rstrip(_TRAILING) if group == "bare" else match[group]
    if match["key"]:
        value = value.partition("&")[0]  # of a query: token=...&state=...
    phrase = "" if _is_joined(value) else _find_phrase(match)
    if phrase or (value and _is_named_secret(match, value)):
        return kind, match.start(group), phrase or value
    return None


def _is_named_secret(match: re.Match[str], value: str) -> bool:  # noqa: PLR0911 (one rule a line)
    """Return whether the value after a password's or a key's name is a secret."""
    text, groups = match.string, match.groupdict()
    is_bare, is_in_sentence = groups["bare"] is not None, groups["verb"] is not None
    is_plain = groups["verb"] in {"to", "of", "was", "are", "'s"}
    is_joined = bool(groups["password"]) and is_in_sentence and not is_plain and _is_joined(value)
    is_read = not is_joined and _CODE.fullmatch(value) is not None
    if (
        (_is_placeholder(value) and groups["pin"] is None)
        or value.lower() in _NO_SECRET
        or (_KNOWN_WITH_DIGITS.fullmatch(value) and groups["pin"] is None)
        or (is_read and (is_bare or any(it in value for it in "(/[")))
    ):
        return False
    before = text[max(0, match.start() - _LONGEST_BEFORE) : match.start()]
    if before.rfind("${") > before.rfind("}"):
        return False  # ${DB_PASSWORD:-default}
    if groups["pin"]:
        name = groups["pin"]
        is_owned = _CODE_OWNER.search(before[-_LONGEST_CLAUSE:] + match[0]) is not None
        is_named = (
            name.isupper()
            or not name.isascii()
            or not groups["blank"]
            or is_owned
            or name.startswith("pin")
        )
        if name.lower() in _CODES_OF_ANYTHING:
            is_mine = len(value) == _DIGITS_OF_ONE_TIME_CODE and before.lower().endswith(
                ("my ", "your ")
            )
            is_named = is_owned or is_mine
        fewest = _SHORTEST_PASSWORD - (
            name[:2].lower() == "cv" or before.lower().endswith("security ")
        )
        is_number = value.replace("-", "").isdecimal() or (is_owned and _DOOR_CODE.fullmatch(value))
        return bool(is_named and is_number and fewest <= len(value) < _LONGEST_PIN)
    has_digit = any(it.isdigit() for it in value)
    has_letter = any(it.isalpha() for it in value)
    has_sign = any(not it.isalnum() and it not in "_-.'/ " for it in value)
    if groups["key"]:
        # "The token is ..." and "the secret is ..." begin many sentences: only what looks random.
        is_wifi_key = has_digit and len(value) >= _SHORTEST_KEY and _WIFI.search(before)
        is_letters = (  # CLIENT_SECRET=..., "jwt_secret": "..."
            "secret" in groups["key"].lower()
            and groups["sign"] in {"=", ":"}
            and before[-1:] == "_"
        )
        if is_letters and " " not in value and len(value) >= _SHORTEST_KEY and has_letter:
            return not _IDENTIFIER.fullmatch(value)
        if is_wifi_key:
            return True
        if " " in value or not (has_digit and has_letter):
            return False
        is_owned = groups["key"].lower() not in _BARE_KEYS or _KEY_OWNER.search(before)
        if groups["blank"] or not is_owned:
            is_uuid = _IS_UUID.fullmatch(value) and not match[0][:3].isupper()
            return len(value) >= SHORTEST_TOKEN and _is_random(value) and not is_uuid
        is_long = is_bare and groups["key"].lower() in _BARE_KEYS
        return len(value) >= (_SHORTEST_BARE_KEY if is_long else _SHORTEST_KEY)
    is_login = before.endswith("--") or _USER_BEFORE.search(before) is not None
    if groups["weak"]:
        return (
            has_digit
            and has_letter
            and len(value) >= _SHORTEST_WEAK
            and (not groups["blank"] or is_login or (has_sign and _is_strong(value)))
        )
    if len(value) < _SHORTEST_PASSWORD:
        return False
    follower = text[match.end() if not is_bare else match.start("bare") + len(value) :][:2]
    ends = follower.strip()[:1] in ".,;!&" or "\n" in follower
    is_word = _WORD.fullmatch(value) is not None and not value.lower().endswith(_ENDINGS)
    if groups["blank"]:
        # "password hunter2!", without anything between: an option of a command, or a mixture.
        is_mixed = has_digit and has_letter and (has_sign or value.lower() != value)
        is_code = value.isdecimal() and "code" in match["password"].lower()
        is_phrase = "phrase" in match["password"].lower() and value.count("-") > 1
        return (
            is_mixed
            or is_code
            or is_phrase
            or (_SIGN.search(value) is not None and _is_joined(value))
            or (is_login and (has_digit or (is_word and ends)))
            or (has_digit and value.count("-") > 1)
            or (has_digit and has_letter and len(value) >= _SHORTEST_KEY and value.isalnum())
        )
    if has_digit or (has_sign and has_letter):
        return True
    if " " in value:
        # A sentence may quote a passphrase. A program has labels and messages there.
        words = value.lower().split()
        if "phrase" in match["password"].lower() and len(words) > _FEWEST_DIGITS:
            return True
        return is_in_sentence and not any(
            word in _NO_SECRET or word.endswith(_ENDINGS) for word in words
        )
    if not is_bare:
        is_name = _IDENTIFIER.fullmatch(value) and not _is_joined(value)
        return is_in_sentence or not (value[:1].isupper() or is_name)
    if is_joined or value.count("-") > 1:
        return True  # correct-horse-battery-staple
    # A word is a password only where its sentence or line ends; "is required" is none.
    return (
        ends
        and "\n" not in match[0]
        and is_word
        and groups["verb"] not in {"to", "was", "are", "'s"}
        and groups["sign"] not in {"-", "\u2013", "\u2014"}
        # In code, a word stands for a variable: "password = word", "password=word,".
        and not (groups["sign"] == "=" and (follower[:1] == "," or " =" in match[0]))
        and not (groups["sign"] and _IDENTIFIER.fullmatch(value))
    )


def _lower(text: str) -> str:
    """Return the text in lower case, with as many characters as before."""
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" has become two characters
        lowered = "".join(it.lower() if len(it.lower()) == 1 else it for it in text)
    return lowered


def _find_all(lowered: str, anchors: Iterable[str]) -> list[int]:
    """Return where any of the anchors begins, in the text's order."""
    starts: set[int] = set()
    for anchor in anchors:
        start = lowered.find(anchor)
        while start >= 0:
            starts.add(start)
            start = lowered.find(anchor, start + len(anchor))
    return sorted(starts)


def _redact_named(
    text: str, anchors: Iterable[str], kinds: Collection[str], counts: Counter[str]
) -> str:
    """Return the text without the values after names such as "password is" and "api_key ="."""
    pieces: list[str] = []
    done = 0
    for start in _find_all(_lower(text), anchors):
        secret = None if start < done else (_read_named(text, start) or _find_near(text, start))
        if secret and secret[0] in kinds:
            kind, place, value = secret
            counts[kind] += 1
            pieces += [text[done:place], f"[redacted:{kind}]"]
            done = place + len(value)
    for match in _REVERSED.finditer(text, done):
        before = text[max(done, match.start() - _LONGEST_REVERSED) : match.start()]
        value = (before.split() or [""])[-1].strip("\"'`()").removeprefix("G-")
        has_digit = any(it.isdigit() for it in value)
        has_sign = any(not it.isalnum() and it not in "_-./:,;[]" for it in value)
        if value.startswith("[redacted:"):
            continue
        is_pin = (
            match["pin"] and value.isdigit() and _SHORTEST_PASSWORD <= len(value) < _LONGEST_PIN
        )
        is_mixed = has_digit and (has_sign or value.lower() != value)
        if is_pin or (is_mixed and not match["pin"] and not _is_placeholder(value)):
            kind = "pin" if is_pin else "password"
            if kind not in kinds:
                continue
            counts[kind] += 1
            start = text.rindex(value, done, match.start())
            pieces += [text[done:start], f"[redacted:{kind}]"]
            done = start + len(value)
    return "".join([*pieces, text[done:]])


# The functions -----------------------------------------------------------------------------------


PRIVATE = "private"
"""The kind under which passages in `<private>` are counted."""


KINDS = frozenset(
    {shape.kind for shape in (*PREFIXED, *_KEYS_IN_TEXT, *ANY_LENGTH)}
    | {"api-key", "password", "pin", "secret", "token"}
)
"""All kinds of secrets."""


def read_kinds(words: object) -> frozenset[str]:
    """Return the kinds that the setting `redact_kinds` names; raise ConfigurationError.

    Args:
        words: "all"; kinds with commas between, "password,api-key"; or kinds that are left as they
            are, "-iban,-card".
    """
    names = re.split(r"[\s,]+", words.strip()) if isinstance(words, str) else []
    kinds = {name.removeprefix("-") for name in names}
    if names == ["all"]:
        return KINDS
    signs = {name[:1] == "-" for name in names}
    if unknown := sorted(kinds - KINDS):
        hint = did_you_mean(unknown, sorted(KINDS))
        problem = f"there is no kind {', '.join(map(repr, unknown))}{hint}"
    elif len(signs) != 1:
        problem = "name kinds to replace, or kinds to leave with a minus before each, not both"
    else:
        return KINDS - kinds if True in signs else frozenset(kinds)
    raise ConfigurationError(
        f"redact_kinds is not usable: {problem}. It is all, or kinds with commas between, such as"
        f" password,api-key or -iban,-card; the kinds are {', '.join(sorted(KINDS))}"
    )


def redact(text: str, kinds: Collection[str] = KINDS) -> tuple[str, Counter[str]]:
    """Return the text with `[redacted:KIND]` for each secret, and the number of each kind.

    A text that is redacted already stays as it is.
    """
    counts: Counter[str] = Counter()

    def replace_in(text: str, shape: Shape) -> str:
        matches: Iterable[re.Match[str]] = shape.pattern.finditer(text)
        if shape.begins_with_trigger:
            starts = _find_all(_lower(text), shape.triggers)
            matches = filter(None, (shape.pattern.match(text, start) for start in starts))
        pieces: list[str] = []
        done = 0
        for match in matches:
            groups = match.groupdict()
            group = match.lastgroup if match.lastgroup and match.lastgroup != "body" else 0
            if match.start() >= done and shape.check(groups.get("body") or match[group]):
                counts[shape.kind] += 1
                pieces += [text[done : match.start(group)], f"[redacted:{shape.kind}]"]
                done = match.end(group)
        return "".join([*pieces, text[done:]]) if pieces else text

    # Most texts hold no word as long as a key, and no name of one. They are read by a few loops in
    # C, and by no regular expression: one of all shapes takes ten times as long.
    words = text.split()
    if len(max(words, key=len, default="")) >= SHORTEST_TOKEN:
        long_words = " ".join([word for word in words if len(word) >= SHORTEST_TOKEN])
        if _MAYBE_KEY.search(long_words):
            for shapes, words_or_text in ((PREFIXED, long_words), (_KEYS_IN_TEXT, text)):
                for shape in shapes:
                    if shape.kind in kinds and any(map(words_or_text.__contains__, shape.triggers)):
                        text = replace_in(text, shape)
    lowered = text.lower()
    # A log has the same words in each line: a trigger is looked for among the different ones.
    different = " ".join(set(words)).lower()

    def holds(triggers: Collection[str]) -> bool:
        phrases = [trigger for trigger in triggers if " " in trigger]
        return any(map(different.__contains__, triggers)) or any(map(lowered.__contains__, phrases))

    for shape in ANY_LENGTH:
        if shape.kind in kinds and holds(shape.triggers):
            text = replace_in(text, shape)
    anchors = _ASCII_ANCHORS if text.isascii() else ANCHORS
    if holds(anchors):
        text = _redact_named(text, anchors, kinds, counts)
    return text, counts


def drop_private(text: str) -> tuple[str, int]:
    """Return the text without the passages in `<private>`, and their number.

    A passage without an end reaches to the end of the text.
    """
    if "<private>" not in text.lower():
        return text, 0
    pieces: list[str] = []
    count = depth = start = 0
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                pieces.append(text[start : tag.start()])
                count += 1
            depth += 1
        elif depth:
            depth -= 1
            start = tag.end()
    if depth == 0:
        pieces.append(text[start:])
    rest = pieces[0]
    for piece in pieces[1:]:
        # One blank stays of the two that stood around the passage.
        is_double = rest[-1:].isspace() and piece[:1].isspace()
        rest += piece[1:] if is_double else piece
    if depth or not pieces[-1]:
        rest = rest.rstrip()
    return rest if pieces[0] else rest.lstrip(), count


def clean(
    value: Any, *, secrets: bool | Collection[str], passages: bool = True
) -> tuple[Any, Counter[str]]:
    """Return a text, or JSON values with texts, as it may be stored, and what was taken out.

    Args:
        value: A text; or a mapping or a list, whose texts and keys are cleaned.
        secrets: Kinds of secrets that are replaced, or whether all are.
        passages: Whether private passages are left out.

    Returns:
        The value, the same object if nothing was taken out; and counts by kind. Passages in
        `<private>` are counted as `private`.
    """
    counts: Counter[str] = Counter()
    if isinstance(value, str):
        text, left_out = drop_private(value) if passages else (value, 0)
        if left_out:
            counts[PRIVATE] = left_out
        if secrets:
            text, more = redact(text, KINDS if secrets is True else secrets)
            counts += more
        return (text if counts else value), counts
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for name, item in cast("Mapping[str, Any]", value).items():
            # A value is read with its name, which may say that it is a secret: {"password": "x"}.
            label = f'{name}="' if isinstance(item, str) else ""
            labelled = f'{label}{item}"' if label else item
            cleaned, more = clean(labelled, secrets=secrets, passages=passages)
            if label and cleaned.startswith(label):
                fields[name] = cleaned[len(label) :].removesuffix('"')
            elif label:
                key, _, cleaned = cleaned.partition('="')
                fields[key] = cleaned.removesuffix('"')
            else:
                fields[name] = cleaned
            counts += more
        return (fields if counts else cast("Any", value)), counts
    if isinstance(value, list | tuple):
        sequence = cast("list[Any] | tuple[Any, ...]", value)
        cleaned = [clean(item, secrets=secrets, passages=passages) for item in sequence]
        for _, more in cleaned:
            counts += more
        items = [item for item, _ in cleaned]
        return (type(sequence)(items) if counts else sequence), counts
    return value, counts


def summary(counts: Mapping[str, int]) -> str:
    """Return counts in words: "3 secrets redacted: 2 aws-key, 1 password"; empty if none."""
    secrets = {kind: number for kind, number in sorted(counts.items()) if kind != PRIVATE}
    total, passages = sum(secrets.values()), counts.get(PRIVATE, 0)
    parts: list[str] = []
    if total:
        kinds = ", ".join(f"{number} {kind}" for kind, number in secrets.items())
        parts.append(f"{total} secret{'s' * (total != 1)} redacted: {kinds}")
    if passages:
        parts.append(f"{passages} private passage{'s' * (passages != 1)} left out")
    return "; ".join(parts)
