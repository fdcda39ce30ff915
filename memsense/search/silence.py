"""Decision to say nothing: does a memory hold anything about a prompt?

Small talk and acknowledgements are recognised by their words, so that they cost no search. For
everything else the search is run, and its hits are judged: a search always finds something.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memsense.search.explanation import Explanation, Term
from memsense.text.scripts import HAN_AND_KANA
from memsense.types import PromptKind

HITS: Final = 10
"""Hits that the decision looks at."""

MET: Final = 0.6
"""Similarity from which a word of the prompt counts as met by a memory's word."""

FEW: Final = 40
"""Memories from which likeness counts the same: the best of fewer is less like a prompt."""

ADVICE: Final = 0.3
"""Share that "How do I ...?" and "Write me ..." count of speaking of oneself."""

MOST_WORDS: Final = 7
"""Words from which a longer prompt is no more likely to concern a memory."""

SMALL_TALK_WORDS: Final = 8
"""Words of the longest small talk."""

TIME: Final = 25.0
"""Weight of a memory of the time asked for, where nothing else is asked: it answers by itself."""


# Weights of logistic regressions of "the memory holds what the prompt asks for", by the kind of
# prompt, shifted so that a chance of one half is the calibrated threshold. They are fitted by
# benchmarks/fits/fit_silence.py; docs/how/constants.md, "Silence", has the figures. Those from
# `names` on are set by hand: nearly every question about people has one. Cosines and token
# similarities differ between models: where tokens were not compared, words alone decide, with
# weights that benchmarks/fits/fit_context.py fitted, but for `names` and `personal`.
KIND_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "question": {
        "bias": -7.53,
        "similarity": 3.4,
        "tokens": 2.55,
        "met": 2.64,
        "coverage": 0.64,
        "words": 2.3,
        "proper": 0.85,
        "weakest": 2.09,
        "names": 3.0,
        "personal": -0.2,
        "said": 0.8,
        "few": 0.2,
        "brings": -0.45,
    },
    "request": {
        "bias": -6.95,
        "similarity": 3.4,
        "tokens": 1.46,
        "met": 1.59,
        "coverage": 0.84,
        "words": 2.54,
        "proper": 1.67,
        "my": 2.3,
        "names": 3.0,
        "said": 0.8,
        "brings": -0.45,
    },
}
WORD_WEIGHTS: Final[Mapping[str, float]] = {
    "bias": -15.68,
    "coverage": 9.59,
    "words": 6.18,
    "proper": 2.41,
    "names": 4.0,
    "personal": 4.0,
    "asked": 2.5,
}
# The weights of other languages are fitted by benchmarks/fits/fit_languages.py. Pronouns of few
# languages are known here, so that a question's mark counts by itself.
FOREIGN_WEIGHTS: Final[Mapping[str, float]] = {
    "bias": -11.6,
    "tokens": 4.5,
    "similarity": 7.85,
    "met": 4.56,
    "words": 2.68,
    "proper": 2.59,
    "names": 3.0,
    "personal": 4.0,
    "foreign": -1.43,
    "asks": 2.0,
    "coverage": 5.0,
}
# For prompts that words alone answer, because the model doesn't know their language. WORD_WEIGHTS
# count words as English has them. The largest coverage grows with the memory.
UNKNOWN_WEIGHTS: Final[Mapping[str, float]] = {
    "bias": -4.1,
    "coverage": 30.0,
    "asks": 3.0,
    "names": 4.0,
    "personal": 4.0,
    "asked": 1.0,
}
# Weights of models without tokens, by the model that compared the best hit.
MODEL_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "use-multilingual-3": {
        "bias": -7.3,
        "similarity": 20.0,
        "coverage": 8.0,
        "asks": 2.5,
        "names": 4.0,
        "personal": 3.0,
        "asked": 2.0,
    },
}
_REASONS: Final[Mapping[str, str]] = {
    "tokens": "the largest token similarity of a hit",
    "similarity": "the largest similarity of a hit's vectors",
    "coverage": "the largest share of the prompt's words in a hit",
    "met": "the largest share of the prompt that words of one hit meet",
    "words": "log(1 + words), of 7 at most",
    "names": "the prompt names the user, or a person who speaks in the memory",
    "personal": "it asks about a person, or about what was said",
    "asks": "it ends as a question does",
    "proper": "a name of the prompt occurs in a hit",
    "my": "it speaks of the one who asks",
    "weakest": "the least similarity of a word that weighs much, in the hit that meets it best",
    "said": "it says that something was said, told or decided before",
    "few": "log(40 / memories), of 40 at most: the best of few memories is less like a prompt",
    "brings": "it brings the text that it is about, behind a colon",
    "asked": "memory is asked on purpose; not fitted",
    "foreign": "it is not in English: to the model, texts of another language are all alike",
}

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_WORD = re.compile(rf"[{HAN_AND_KANA}]|[^\W_]+(?:'[^\W_]+)*")
# A capital behind another word: German writes every noun so, but then the hit must hold it too.
_PROPER = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]{2,}")
_MY = re.compile(
    r"\b(?:my|ours?|i|we|i'm|i've|i'd|we're|we've|us|(?<!give )(?<!show )(?<!tell )me)\b",
    re.IGNORECASE,
)
# "How do I read a file?" asks about files, "What can I eat?" about the person who asks.
_ADVICE = re.compile(
    r"\bhow (?:do|can|could|should|would|might) (?:i|we)\b"
    r"|\b(?:write|draft|make|build|sketch|explain|find|get|create|generate|help|teach|remind) me\b"
    r"|\bwie (?:kann|könnte|soll|sollte|muss|mache|sehe|finde|bekomme) (?:ich|wir)\b"
    r"|\bcomment (?:puis-je|(?:est-ce que )?je peux|dois-je|faire)\b|\bкак (?:мне|я могу)\b",  # noqa: RUF001
    re.IGNORECASE,
)
_EARLIER = re.compile(
    r"\b(?:(?:did|have|had) (?:i|we|you) (?:\w+ )?(?:say|said|mention(?:ed)?|tell|told|talk(?:ed)?"
    r"|discuss(?:ed)?|suggest(?:ed)?|recommend(?:ed)?|decided?|agreed?)"
    r"|(?:i|we|you) (?:\w+ )?(?:said|told|mentioned|suggested|recommended|decided|agreed|talked"
    r"|discussed)|remind|remember|last time)\b",
    re.IGNORECASE,
)
_BRINGS = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:rewrite|rephrase|reword|translate|fix|correct"
    r"|proofread|check|turn|convert|make|shorten|split|summari[sz]e|simplify|format|sort)\b"
    r"[^\n:]{0,60}:\s+\S",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][\w-]+")
_QUESTION = re.compile(r"(?:[?？؟]|か。?|[吗呢]。?)\s*$")  # noqa: RUF001 (question marks)
_ASKS = re.compile(
    r"[?？]\s*$"  # noqa: RUF001 (the question mark of Chinese)
    r"|^\W*(?:what|which|who|whose|when|where|why|how|did|do|does|have|has|had|was|were|am|is|are"
    r"|list|tell|give|summari[sz]e)\b"
    r"|\b(?:remind|remember|recall|told|mention(?:ed)?|last time|again|earlier|as usual)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"\b(?:my|mine|our|ours|i|we|i'm|i've|i'd|we're|we've"
    r"|she|her|hers|he|him|his|they|them|their|the user|the user's"
    r"|did you|have you|you (?:said|told|mentioned|suggested|recommended)"
    r"|ich|mein\w{0,2}|wir|unser\w{0,2}|habe|je|j'ai|mon|ma|mes|notre|nos|nous"
    r"|mi|mis|yo|he|hemos|nuestr[oa]s?|io|mio|mia|miei|mie|eu|meu|minha|meus|minhas"
    r"|я|мне|меня|мы|нам|нас|мой|моя|моё|мои|моего|моей|моему|моим|моих|наш\w{0,3})\b"
    r"|[我俺私僕]",
    re.IGNORECASE,
)

_SMALL_TALK_WORDS = frozenset(
    """a absolutely again ahead alright amazing and awesome bye cheers continue cool correct day
    definitely done evening exactly excellent fine go good goodbye got great ha haha hello hey hi
    hm hmm i'm it it's k kk later lgtm lol lot love lovely many me mm mmh morning much never mind
    nice night no nope of ok okay on one perfect please proceed right see so sorry sounds stop
    super sure thank thanks that that's the then there this thx to tomorrow true ty understood
    very wait welcome well works wow y ya yay yeah yep yes yo you your bored weekend friday happy
    have are how's what's up going looks not try second first option do been long time meet keep
    bitte danke gern gerne gut guten hallo ja klar morgen nein super tag tschüss das war's
    merci d'accord oui non salut ça va bien bonjour au revoir parfait s'il vous plaît
    gracias hola sí si vale perfecto qué tal buenos buenas días noches adiós por favor
    grazie ciao va bene obrigado obrigada olá
    sim não valeu bom boa dia tarde noite tudo certo tchau beleza ótimo até logo perfeito legal
    dank je wel bedankt prima oké hoi doei hallo goed goedemorgen goedenavond tot ziens graag top
    dziękuję dzięki tak nie dobra dobrze cześć hej dzień dobry dobranoc jasne świetnie do widzenia
    na razie proszę wielkie
    teşekkürler teşekkür ederim çok sağ ol sağol tamam evet hayir merhaba selam günaydin iyi günler
    geceler akşamlar görüşürüz lütfen harika güzel
    спасибо большое пожалуйста да нет хорошо ок окей ладно понятно понял поняла ясно отлично супер
    привет здравствуй здравствуйте добрый день доброе утро вечер пока до свидания спокойной ночи
    всё все как дела
    감사합니다 감사해요 고마워 고마워요 고맙습니다 네 넵 예 응 아니 아니요 안녕 안녕하세요 안녕히
    계세요 가세요 좋아 좋아요 좋네요 알겠습니다 알겠어요 알았어 오케이 수고하셨습니다 괜찮아요 정말
    شكرا جزيلا نعم لا حسنا تمام ممتاز رائع جيد مرحبا أهلا اهلا السلام عليكم وعليكم صباح مساء الخير
    النور مع السلامة إلى اللقاء من فضلك طيب عفوا تصبح على خير
    好 的 谢 嗯 行 是 对 你""".split()
)
# The dot above that casefolding leaves of a Turkish capital, and the letter without one.
_TURKISH_I = {0x307: None, 0x131: "i"}
# Japanese has no blanks, and its single kana are no words.
_SMALL_TALK_JAPANESE = re.compile(
    "(?:(?:どうも)?ありがとう(?:ございま(?:す|した))?|どうも|はい|いいえ|うん|了解(?:です|しました)?"
    "|(?:わか|分か)りました|なるほど|おはよう(?:ございます)?|こんにちは|こんばんは|おやすみ(?:なさい)?"
    "|さようなら|またね|よろしく(?:お願いします)?|お願いします|大丈夫(?:です)?|すごい|素晴らしい"
    "|いいです|そうです|オッケー)[ねよ]?"
)
# Of these words alone nothing asks for a memory, but with "what" or "do" a question can be made.
_NEVER_SMALL = re.compile(
    r"\b(?:do (?:you|we|i)|what (?:is|was|did)|where|when|who|which|have (?:i|we)"
    r"|what's (?!up\b|going\b)|how's (?!it\b|life\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A hit as the decision looks at it.

    Attributes:
        explain: Its explanation.
        text: Its text.
        user_id: Whose memory it is.
        is_of_time: Whether it is of the time asked for, by a question that asks for nothing else.
    """

    explain: Explanation
    text: str
    user_id: str = ""
    is_of_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Estimated chance that a memory holds something about a prompt.

    Attributes:
        chance: From 0 to 1; 0.5 is the calibrated threshold.
        terms: Summands of log(chance / (1 - chance)).
        kind: The kind of prompt, whose weights counted.
    """

    chance: float
    terms: Sequence[Term]
    kind: PromptKind = "question"

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as plain values, ready for JSON."""
        terms = {term.name: round(term.contribution, 4) for term in self.terms}
        return {"chance": self.chance, "terms": terms, "kind": self.kind}


def is_small_talk(prompt: str) -> bool:
    """Return whether a prompt is nothing but an acknowledgement, a greeting or a farewell.

    Args:
        prompt: The prompt.
    """
    prompt = prompt.replace(_APOSTROPHE, "'")
    prompt = _SMALL_TALK_JAPANESE.sub(" ", prompt).casefold().translate(_TURKISH_I)
    words = _WORD.findall(prompt)
    if not words:
        return True  # signs and emoji alone
    if len(words) > SMALL_TALK_WORDS or _NEVER_SMALL.search(prompt):
        return False
    return all(word in _SMALL_TALK_WORDS for word in words)


def judge(
    prompt: str, hits: Sequence[Judged], question: Mapping[str, Any], *, is_asked: bool = False
) -> Relevance:
    """Return the chance that the hits hold something about the prompt.

    Args:
        prompt: The prompt.
        hits: The best hits of its search.
        question: Analysis of the question, as results have it.
        is_asked: Whether memory is asked on purpose: then a single word is a question, too.
    """
    if not hits:
        return Relevance(chance=0.0, terms=())
    features = judge_features(prompt, hits, question)
    features["asked"] = float(is_asked)
    if is_asked:
        features["words"] = math.log1p(MOST_WORDS)
    model = hits[0].explain.model
    kind: PromptKind = "request" if question.get("kind") == "request" else "question"
    if model in MODEL_WEIGHTS:
        weights = MODEL_WEIGHTS[model]
    elif "share_known" in question:
        weights = UNKNOWN_WEIGHTS
    else:
        spoken = FOREIGN_WEIGHTS if "foreign" in features else KIND_WEIGHTS[kind]
        weights = spoken if "tokens" in features else WORD_WEIGHTS
        if weights is KIND_WEIGHTS["question"] and features["personal"]:
            # "Where do I live?" is short, but no riddle or sum: those are why words count.
            features["words"] = math.log1p(MOST_WORDS)
    terms = [
        Term(
            name=name,
            value=features[name],
            weight=weight,
            contribution=weight * features[name],
            because=_REASONS.get(name, ""),
        )
        for name, weight in weights.items()
        if name in features
    ]
    if any(it.is_of_time for it in hits):
        because = "nothing but a time is asked for, and a hit is of that time"
        terms.append(Term(name="time", value=1.0, weight=TIME, contribution=TIME, because=because))
    total = sum(term.contribution for term in terms)
    return Relevance(chance=1 / (1 + math.exp(-total)), terms=terms, kind=kind)


def judge_features(
    prompt: str, hits: Sequence[Judged], question: Mapping[str, Any]
) -> dict[str, float]:
    """Return what the decision weighs, by name.

    Args:
        prompt: The prompt.
        hits: The best hits of its search.
        question: Analysis of the question, as results have it.
    """
    # Similarities of several models can't be compared: those of the best hit's model count.
    first = [it for it in hits[:HITS] if it.explain.model == hits[0].explain.model]
    prompt = prompt.replace(_APOSTROPHE, "'")
    words = {word.removesuffix("'s") for word in _WORD.findall(prompt.casefold())}
    users = {it.user_id.casefold() for it in first}
    asks = bool(_ASKS.search(prompt)) and bool(_PERSONAL.search(_ADVICE.sub(" ", prompt)))
    proper = {name.removesuffix("'s") for name in _PROPER.findall(prompt)}
    features = {
        "bias": 1.0,
        "coverage": max((it.explain.coverage for it in first), default=0.0),
        "words": math.log1p(min(len(_WORD.findall(prompt)), MOST_WORDS)),
        "names": float(bool(question.get("names")) or not words.isdisjoint(users)),
        "personal": float(asks),
        "asks": float(bool(_QUESTION.search(prompt))),
        "proper": float(any(proper & set(_NAME.findall(it.text)) for it in first)),
        "my": 1.0 if _MY.search(_ADVICE.sub(" ", prompt)) else ADVICE * bool(_MY.search(prompt)),
        "said": float(bool(_EARLIER.search(prompt))),
        "few": math.log(FEW / min(max(question.get("memories", FEW), 1), FEW)),
        "brings": float(bool(_BRINGS.search(prompt))),
        "similarity": max((it.explain.similarity for it in first), default=0.0),
    }
    if question.get("language", "en") != "en":
        features["foreign"] = 1.0
    compared = [it.explain.matches for it in first if it.explain.matches]
    if compared:
        # A request has no term `tokens`; its matches add up to the same value.
        features["tokens"] = max(
            sum(match.share * match.similarity for match in matches) for matches in compared
        )
        features["met"] = max(
            sum(match.share for match in matches if match.similarity > MET) for matches in compared
        )
        # A hit that meets all but the word that matters is about something else.
        features["weakest"] = max(
            min(
                match.similarity
                for match in matches
                if match.share >= 0.5 * max(it.share for it in matches)
            )
            for matches in compared
        )
    return features
