"""Secrets in texts: keys, tokens, passwords and private passages, and their replacement.

`redact` replaces a secret by its kind, such as `[redacted:aws-key]`. Everything around it stays:
the name of a setting, the user and the host of a URL. `<private>...</private>` leaves nothing.

The table is our own: detect-secrets, the best-kept library, needs requests and PyYAML, takes a
quarter of a second to import, and knows code and configuration, but no sentences.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

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
    r"|masked|hidden|example|sample)(?![a-z])|change[-_ ]?me|placeholder|your[-_]",
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


# Shapes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of one kind of secret.

    A text can only match if one of `triggers` is in it, for those of `ANY_LENGTH` in its lower
    case. The group `value`, or all of the match, is replaced if `check`
    accepts it.
    """

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Callable[[str], bool] = _is_token


_START, _END = r"(?<![A-Za-z0-9_])(?:", r")(?![A-Za-z0-9])"
"""Bounds of a key: the characters around it belong to no key."""

_GITLAB_KINDS = tuple("pat dt rt cbt ptt ft imt agent oas soat ffct".split())

KEYS: tuple[Shape, ...] = (
    # RFC 7468; OpenSSH's PROTOCOL.key; RFC 9580. In JSON, as Google's service accounts have it, the
    # line feeds are written as \n. One that is cut off is redacted as far as its lines go.
    Shape(
        "private-key",
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<value>(?:[^-]|-(?!----))*+(?=-----END )"
            r"|(?:\s|\\[nr])*+(?:[A-Za-z0-9+/]{40,}+=*+(?:\s|\\[nr])*+)++)"
        ),
        lambda value: _LINE_RUN.search(value) is not None,
    ),
    # age-encryption.org/v1
    Shape(
        "private-key",
        ("AGE-SECRET-KEY-",),
        re.compile(_START + (r"AGE-SECRET-KEY-1[0-9A-Z]{58}") + _END),
    ),
    # docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html, "unique ID prefixes"
    Shape(
        "aws-key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        re.compile(_START + (r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}") + _END),
    ),
    # docs.github.com/authentication, "GitHub's token formats"
    Shape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        re.compile(_START + (r"gh[pousr]_[A-Za-z0-9]{30,255}") + _END),
    ),
    Shape(
        "github-token",
        ("github_pat_",),
        re.compile(_START + (r"github_pat_[A-Za-z0-9_]{36,255}") + _END),
    ),
    # docs.gitlab.com/security/tokens, "token prefixes"
    Shape(
        "gitlab-token",
        tuple(f"gl{kind}-" for kind in _GITLAB_KINDS),
        re.compile(f"{_START}gl(?:{'|'.join(_GITLAB_KINDS)})-" + r"[A-Za-z0-9_.-]{20,300}" + _END),
    ),
    # docs.anthropic.com/en/api; platform.openai.com/docs/api-reference/authentication; others that
    # speak OpenAI's protocol took over its prefix
    Shape(
        "anthropic-key", ("sk-ant-",), re.compile(_START + (r"sk-ant-[A-Za-z0-9_-]{16,300}") + _END)
    ),
    Shape(
        "openai-key",
        ("sk-",),
        re.compile(
            _START
            + (
                r"sk-(?:proj-|svcacct-|admin-|or-v1-|None-)?(?=[A-Za-z_-]{0,60}[0-9])(?:[A-Za-z0-9]|[_-](?=[A-Za-z0-9_-]"
                r"{8})){20,300}"
            )
            + _END
        ),
    ),
    # api.slack.com/authentication/token-types; api.slack.com/messaging/webhooks
    Shape(
        "slack-token",
        ("xox", "xapp-"),
        re.compile(_START + (r"(?:xox[abceoprs]|xapp)-[A-Za-z0-9.-]{10,300}") + _END),
    ),
    Shape(
        "slack-webhook",
        ("hooks.slack.com/",),
        re.compile(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[A-Za-z0-9]{6,20}/[A-Za-z0-9/]{10,100})"
        ),
    ),
    # docs.stripe.com/keys; docs.stripe.com/webhooks
    Shape(
        "stripe-key",
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
        re.compile(
            _START
            + (r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{24,100})")
            + _END
        ),
    ),
    # cloud.google.com/docs/authentication/api-keys; developers.google.com/identity/protocols/oauth2
    Shape("google-key", ("AIza",), re.compile(_START + (r"AIza[A-Za-z0-9_-]{35}") + _END)),
    Shape(
        "google-oauth", ("GOCSPX-",), re.compile(_START + (r"GOCSPX-[A-Za-z0-9_-]{24,40}") + _END)
    ),
    Shape(
        "google-oauth",
        ("ya29.", "1//0"),
        re.compile(_START + (r"(?:ya29\.|1//0)[A-Za-z0-9_-]{30,300}") + _END),
    ),
    # learn.microsoft.com/azure/storage/common/storage-configure-connection-string;
    # learn.microsoft.com/entra/identity-platform ("client secret": three characters, a digit, Q~)
    Shape(
        "azure-key",
        ("AccountKey=", "SharedAccessKey=", "sig="),
        re.compile(
            r"(?:AccountKey=|SharedAccessKey=|[?&]sig=)(?P<value>[A-Za-z0-9+/%]{38,120}={0,2})"
        ),
    ),
    Shape(
        "azure-key",
        ("Q~",),
        re.compile(_START + (r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}") + _END),
    ),
    # docs.npmjs.com/about-access-tokens; .npmrc
    Shape("npm-token", ("npm_",), re.compile(_START + (r"npm_[A-Za-z0-9]{36}") + _END)),
    Shape(
        "npm-token",
        ("_authToken=",),
        re.compile(r"_authToken=\s{0,2}(?P<value>[A-Za-z0-9_.+/=-]{16,300})"),
    ),
    # pypi.org/help, "API tokens": a macaroon, whose first field is the host
    Shape(
        "pypi-token", ("pypi-Ag",), re.compile(_START + (r"pypi-Ag[A-Za-z0-9_-]{50,500}") + _END)
    ),
    # huggingface.co/docs/hub/security-tokens
    Shape(
        "huggingface-token",
        ("hf_",),
        re.compile(_START + (r"hf_[A-Za-z0-9]{30,60}") + _END),
        lambda it: it.lower() != it and not _is_placeholder(it),
    ),
    # docs.sendgrid.com/ui/account-and-settings/api-keys
    Shape(
        "sendgrid-key",
        ("SG.",),
        re.compile(_START + (r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}") + _END),
    ),
    # twilio.com/docs/iam/api-keys; an account's AC... is a name, no secret
    Shape("twilio-key", ("SK",), re.compile(_START + (r"SK[0-9a-f]{32}") + _END)),
    # core.telegram.org/bots/api#authorizing-your-bot
    Shape(
        "telegram-token",
        (":AA",),
        re.compile(_START + (r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}") + _END),
    ),
    # discord.com/developers/docs/reference#authentication; the first part is the bot's number
    Shape(
        "discord-token",
        (".",),
        re.compile(
            _START + (r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}") + _END
        ),
    ),
    Shape(
        "discord-webhook",
        ("/api/webhooks/",),
        re.compile(
            r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<value>[A-Za-z0-9_-]{50,100})"
        ),
    ),
    # docs.digitalocean.com/reference/api/create-personal-access-token
    Shape(
        "digitalocean-token", ("_v1_",), re.compile(_START + (r"do[opr]_v1_[0-9a-f]{64}") + _END)
    ),
    # RFC 7519: two JSON objects in base64url, which begin with {" = eyJ, and a signature
    Shape(
        "jwt",
        ("eyJ",),
        re.compile(
            _START
            + (r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{16,2000}")
            + _END
        ),
    ),
    # memsense/store/access.py
    Shape(
        "memsense-key",
        ("ms_",),
        re.compile(_START + (r"ms_[1-9][0-9]{0,9}_[0-9a-f]{12}_[A-Za-z0-9_-]{40,43}") + _END),
    ),
    # Prefixes that their vendors document for secret scanners: Groq, xAI, Replicate, Perplexity,
    # Tavily, Vault, Docker Hub, Shopify, Databricks, Linear, Notion, Supabase, Grafana, Postman,
    # New Relic, Doppler, Sentry, Square
    Shape(
        "api-key",
        (
            "gsk_",
            "xai-",
            "r8_",
            "pplx-",
            "tvly-",
            "hvs.",
            "dckr_pat_",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "dapi",
            "lin_api_",
            "ntn_",
            "sbp_",
            "glsa_",
            "PMAK-",
            "NRAK-",
            "dp.pt.",
            "sntrys_",
            "sq0",
        ),
        re.compile(
            _START
            + (
                r"(?:gsk_|xai-|r8_|pplx-|tvly-|hvs\.|dckr_pat_|shp(?:at|ca|pa|ss)_|dapi|lin_api_|ntn_|sbp_"
                r"|glsa_|PMAK-|NRAK-|dp\.pt\.|sntrys_|sq0(?:csp|atp)-)(?=[A-Za-z_-]{0,30}[0-9])"
                r"[A-Za-z0-9_-]{24,300}"
            )
            + _END
        ),
    ),
    # The secret that belongs to an AWS key has no prefix: 40 characters near AWS's name or the key.
    Shape(
        "aws-secret",
        ("aws", "AWS", "Aws", "secret", "SECRET"),
        re.compile(
            r"(?:aws|AWS|Aws|(?i:secret_?access_?key))[^\n]{0,60}?\s?[^\n]{0,30}?(?<![A-Za-z0-9/+=_.-])"
            r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-]|\.\w)"
        ),
        _is_mixed,
    ),
    # RFC 6750, RFC 7617
    Shape(
        "authorization",
        ("earer", "EARER", "asic ", "uthorization", "UTHORIZATION"),
        re.compile(
            r"(?i:\b(?:bearer|basic|authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:token|apikey)?))\s{1,3}[\"']?"
            r"(?P<value>[A-Za-z0-9._~+/-]{16,4000}={0,2})"
        ),
        lambda value: _is_token(value) and (_is_mixed(value) or len(value) > _LONGEST_NAME),
    ),
)
"""Keys by their own shape, all at least SHORTEST_TOKEN long without a blank."""

_URL_PASSWORD = Shape(
    # RFC 3986, 3.2.1: scheme://user:password@host. The last @ before the host counts, because
    # people don't escape those in their passwords.
    "url-password",
    ("://",),
    re.compile(r"://[^\s:/@?#\"'<>`]{0,100}:(?P<value>[^\s/\"'<>`]{1,200})@(?=[A-Za-z0-9\[$<{])"),
    _is_url_password,
)
_CARD = Shape(
    # ISO/IEC 7812-1 numbers of the large schemes. Only where the text speaks of a card: one in ten
    # order and tracking numbers of this length has a right check digit.
    "card-number",
    ("card", "visa", "mastercard", "amex", "cvv", "cvc", "karte", "tarjeta", "carte"),
    re.compile(
        r"(?<![\w.-])(?:(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|6[0-9]{3})(?:[ -]?[0-9]{4}){3}"
        r"|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5})(?![\w-]|\.[0-9])"
    ),
    _passes_luhn,
)
_MAYBE_KEY = re.compile(r"(?<![A-Za-z0-9/+_=-])[A-Za-z0-9/+_=-]{16}")
"""The beginning of a run of a key's characters."""
_COMMAND = Shape(
    # Manuals of curl (-u, --user), sshpass (-p), mysql (-p without a blank), redis-cli (-a)
    "password",
    ("curl", "sshpass", "mysql", "redis-cli"),
    re.compile(
        r"\b(?:curl\b[^\n|]{0,120}? (?:-u|--user)[ =]?[\"']?[\w.@-]{1,64}:|sshpass -p ?[\"']?"
        r"|mysql\w{0,6}\b[^\n|]{0,80}? -p[\"']?|redis-cli\b[^\n|]{0,60}? -a [\"']?)"
        r"(?P<value>[^\s\"'`]{4,100})"
    ),
)
ANY_LENGTH: tuple[Shape, ...] = (_URL_PASSWORD, _COMMAND, _CARD)
"""Secrets that may be shorter than a key."""

# Passwords and keys after their name -------------------------------------------------------------

ANCHORS = (
    *"pass pw secret token key credential kennwort contraseña contrasena senha wachtwoord".split(),
    *"hasło lösenord пароль 密码 密碼 パスワード 비밀번호 passe".split(),
)
"""Beginnings of names of secrets, in lower case; `key` is the end of one, such as api_key."""

_NAMED = re.compile(
    r"""
    (?:
        (?P<password>pass(?:word|wd|phrase|code|wort)|(?<=db_)pass|(?<=de\ )passe|pwd
            |(?<![a-z])pw(?![a-z])
            |kennwort|contraseña|contrasena|senha|wachtwoord|hasło|lösenord|пароль|密码|密碼|パスワード
            |비밀번호)
      | (?P<key>secret(?:[_ -]?(?:access[_ -]?)?key)?|token|key|credentials?)
    )
    [0-9]{0,2}["'`*\]]{0,3}
    (?:
        # An assignment: password = "...", "api_key": "...", --password=...
        (?:[ ](?:for|to|of|on|at|in|de|für|del|du|para)(?:[ ][\w.@'-]{1,30}){1,5}?)?
        [ \t]{0,3}(?P<sign>:=|=>|={1,2}|[:\uff1a]|(?<=[ ])[-\u2013\u2014](?=[ ]))
        \*{0,2}[ \t]{0,4}\n?[ \t>]{0,4}
        # A sentence: the password for staging is ...
      | (?:[ ](?:for|to|of|on|at|in|de|für|del|du|para)[ ](?:[\w.@'-]{1,30}[ ]){1,5}?|[ ]?)
        (?P<verb>'s|is|was|are|ist|lautet|es|est|é|è|to|这是|是|は|는|은)(?:[ ]now)?[ :]{1,3}
        # The name alone, as on a command line: --password ...
      | (?P<blank>[ ]{1,2})
    )
    (?:"(?P<double>[^"\n]{1,200})"|'(?P<single>[^'\n]{1,200})'|`(?P<ticks>[^`\n]{1,200})`
      |(?P<bare>[^\s"'`<,;|][^\s"'`<,;|]{0,199}))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_KEY_OWNER = re.compile(
    r"(?:api|access|auth|private|signing|encryption|master|account|service|admin)[_ -]?\Z",
    re.IGNORECASE,
)
_NO_OWNER = re.compile(
    # A cursor of a list, and the tokens of language models.
    r"(?:page|next|continuation|prev|cursor|max|cancellation|end|start|eos|bos|pad|sep)_?\Z",
    re.IGNORECASE,
)
_LONGEST_OWNER = 13
_REVERSED = re.compile(
    # "use Tr0ub4dor&3 as the password", "hunter2! is my wifi password"
    r" (?:is|as|was) (?:my|the|our|your|a|his|her|their) (?:[\w-]{1,20} ){0,3}"
    r"pass(?:word|phrase|code)\b",
    re.IGNORECASE,
)
_LONGEST_REVERSED = 80

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
    a account admin-only already always an and any are as at auth authenticate bad base
    based bcrypt be been bool boolean both but by bytes can cancel case change char clear
    confirm correct credentials das days der die different do does easy ein eine email empty
    enough enter erforderlich fair falsch false field file fine first for forgot form free
    from going good great had half hard has hash hashes have he her here hidden him his
    hours how i if important impossible in incorrect input int integer into invalid is it
    its just kept key keys last leer length let like login long lost manager managers max
    may md me min minutes missing more most mostly must muy my name need never new next
    nicht nil no none not now null number oauth object obligatoria of off ok okay old on one
    only optional or our out over pass passphrase passwd password passwords per plaintext
    policy possible private prompt protected public pw pwd que random ready really repeat
    reset resets richtig right safe same scrypt second secret secrets secure sehr sensitive
    set sha she short should shown simple size so some something static still str string
    strong submit such sure text than that the their them then there these they this those
    three time times to token tokens too tricky true two type un una undefined under unique
    unknown unsafe up us use used user username utf valid value values varchar variable very
    via visible vital void was we weak welcome well were what when where which who why will
    with wrong yes yet you your yours zu
    """.split()
)
"""Words that follow the word password and are none."""

_TRAILING = ".,;:)]}>\"'`*"
_SHORTEST_PASSWORD = 4
_SHORTEST_KEY = 8
_SHORTEST_BARE_KEY = 12


def _is_named_secret(match: re.Match[str], value: str) -> bool:
    """Return whether the value after a password's or a key's name is a secret."""
    text, groups = match.string, match.groupdict()
    is_bare, is_in_sentence = groups["bare"] is not None, groups["verb"] is not None
    if (
        _is_placeholder(value)
        or value.lower() in _NO_SECRET
        or _KNOWN_WITH_DIGITS.fullmatch(value)
        or (_CODE.fullmatch(value) and (is_bare or any(it in value for it in "(/[")))
    ):
        return False
    has_digit = any(it.isdigit() for it in value)
    has_letter = any(it.isalpha() for it in value)
    has_sign = any(not it.isalnum() and it not in "_-.'/ " for it in value)
    if groups["key"]:
        # "The token is ..." and "the secret is ..." begin many sentences: only what looks random.
        if groups["blank"] or " " in value or not (has_digit and has_letter):
            return False
        return len(value) >= (_SHORTEST_BARE_KEY if is_bare else _SHORTEST_KEY)
    if len(value) < _SHORTEST_PASSWORD:
        return False
    if groups["blank"]:
        # "password hunter2!", without anything between: an option of a command, or a mixture.
        is_option = text[: match.start()].endswith("--")
        is_mixed = has_digit and has_letter and (has_sign or value.lower() != value)
        return is_mixed or (is_option and has_digit)
    if has_digit or (has_sign and has_letter):
        return True
    if " " in value:
        # A sentence may quote a passphrase. A program has labels and messages there.
        words = value.lower().split()
        return is_in_sentence and not any(
            word in _NO_SECRET or word.endswith(_ENDINGS) for word in words
        )
    if not is_bare:
        return is_in_sentence or not (value[:1].isupper() or _IDENTIFIER.fullmatch(value))
    if value.count("-") > 1:
        return True  # correct-horse-battery-staple
    # A word is a password only where its sentence or line ends; "is required" is none.
    follower = text[match.start("bare") + len(value) :][:2]
    ends = not follower.strip() or follower[:1] in ".,;!&" or "\n" in follower
    return (
        ends
        and "\n" not in match[0]
        and _WORD.fullmatch(value) is not None
        and not value.lower().endswith(_ENDINGS)
        and groups["verb"] not in {"to", "was", "are", "'s"}
        and groups["sign"] not in {"-", "\u2013", "\u2014"}
        # In code, a word stands for a variable: "password = word", "password=word,".
        and not (groups["sign"] == "=" and (follower[:1] == "," or " =" in match[0]))
        and not (groups["sign"] and _IDENTIFIER.fullmatch(value))
    )


def _redact_named(text: str, counts: Counter[str]) -> str:
    """Return the text without the values after names such as "password is" and "api_key ="."""
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" has become two characters
        lowered = "".join(it.lower() if len(it.lower()) == 1 else it for it in text)
    # The expression is tried at the names alone: searching all of the text takes eight times as
    # long.
    starts: list[int] = []
    for anchor in ANCHORS:
        start = lowered.find(anchor)
        while start >= 0:
            starts.append(start)
            start = lowered.find(anchor, start + len(anchor))
    pieces: list[str] = []
    done = 0
    for start in sorted(starts):
        if start < done or not (match := _NAMED.match(text, start)):
            continue
        kind = "password"
        if match["key"]:
            name, before = match["key"].lower(), max(0, start - _LONGEST_OWNER)
            if name == "key" and not _KEY_OWNER.search(text, before, start):
                continue
            if _NO_OWNER.search(text, before, start):
                continue
            kind = {"key": "api-key", "token": "token"}.get(name, "secret")
        group = cast("str", match.lastgroup)
        value = match[group].rstrip(_TRAILING) if group == "bare" else match[group]
        if match["key"]:
            value = value.partition("&")[0]  # of a query: token=...&state=...
        if value and _is_named_secret(match, value):
            counts[kind] += 1
            pieces += [text[done : match.start(group)], f"[redacted:{kind}]"]
            done = match.start(group) + len(value)
    for match in _REVERSED.finditer(text, done):
        before = text[max(done, match.start() - _LONGEST_REVERSED) : match.start()]
        value = (before.split() or [""])[-1].strip("\"'`()")
        has_digit = any(it.isdigit() for it in value)
        has_sign = any(not it.isalnum() and it not in "_-./:,;[]" for it in value)
        if has_digit and (has_sign or value.lower() != value) and not _is_placeholder(value):
            counts["password"] += 1
            start = text.rindex(value, done, match.start())
            pieces += [text[done:start], "[redacted:password]"]
            done = start + len(value)
    return "".join([*pieces, text[done:]])


# The functions -----------------------------------------------------------------------------------


PRIVATE = "private"
"""The kind under which passages in `<private>` are counted."""


def redact(text: str) -> tuple[str, Counter[str]]:
    """Return the text with `[redacted:KIND]` for each secret, and the number of each kind.

    A text that is redacted already stays as it is.
    """
    counts: Counter[str] = Counter()

    def replace_in(text: str, shape: Shape) -> str:
        def replacement(match: re.Match[str]) -> str:
            group = "value" if "value" in shape.pattern.groupindex else 0
            value = match[group]
            if not shape.check(value):
                return match[0]
            counts[shape.kind] += 1
            start, end = match.span(group)
            return f"{text[match.start() : start]}[redacted:{shape.kind}]{text[end : match.end()]}"

        return shape.pattern.sub(replacement, text)

    # Most texts hold no word as long as a key, and no name of one. They are read by a few loops in
    # C, and by no regular expression: one of all shapes takes ten times as long.
    words = text.split()
    if len(max(words, key=len, default="")) >= SHORTEST_TOKEN:
        long_words = " ".join([word for word in words if len(word) >= SHORTEST_TOKEN])
        if _MAYBE_KEY.search(long_words):
            for shape in KEYS:
                if any(it in text for it in shape.triggers):
                    text = replace_in(text, shape)
    lowered = text.lower()
    for shape in ANY_LENGTH:
        if any(it in lowered for it in shape.triggers):
            text = replace_in(text, shape)
    if any(it in lowered for it in ANCHORS):
        text = _redact_named(text, counts)
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


def clean(value: Any, *, secrets: bool) -> tuple[Any, Counter[str]]:
    """Return a text, or JSON values with texts, as it may be stored, and what was taken out.

    Args:
        value: A text; or a mapping or a list, whose texts and keys are cleaned.
        secrets: Whether secrets are replaced; private passages always are.

    Returns:
        The value, the same object if nothing was taken out; and counts by kind. Passages in
        `<private>` are counted as `private`.
    """
    counts: Counter[str] = Counter()
    if isinstance(value, str):
        text, passages = drop_private(value)
        if passages:
            counts[PRIVATE] = passages
        if secrets:
            text, more = redact(text)
            counts += more
        return (text if counts else value), counts
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for name, item in cast("Mapping[str, Any]", value).items():
            # A value is read with its name, which may say that it is a secret: {"password": "x"}.
            label = f'{name}="' if isinstance(item, str) else ""
            cleaned, more = clean(f'{label}{item}"' if label else item, secrets=secrets)
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
        cleaned = [clean(item, secrets=secrets) for item in sequence]
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
