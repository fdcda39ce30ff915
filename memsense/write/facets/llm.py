"""Tags facets with a language model behind an OpenAI-compatible /chat/completions endpoint.

Not imported by `memsense.facets`: it needs the `llm` extra, and no search ever calls it.
"""

from typing import Self

from openai import APIError, OpenAI
from pydantic import BaseModel, ConfigDict, ValidationError

from memsense.config import hide_secrets, shown_url
from memsense.errors import ConfigurationError
from memsense.types import MemoryKind
from memsense.write.facets.model import FACETS, Facet, Facets, FacetSpan, Side, build_facets

_PROMPT = """\
You read one exchange of a conversation and quote what should be remembered about the people in it.
Three facets:
- personal_info: who a speaker is: name, age, origin, home, work, health, family and other relations
- preferences: lasting likes, dislikes, habits, tools, wishes about the style of answers
- events: what happened to a speaker or is planned, above all with a date
Quote whole sentences or clauses, word for word, and say which side they stand on. Leave a facet's \
list empty where nothing is stated. What an assistant says about helping is no facet.
memory_kind: "stable" for lasting facts, "preference", "episodic" for events, else "ephemeral".
"""


class _Quote(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    side: Side
    quote: str


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    personal_info: list[_Quote]
    preferences: list[_Quote]
    events: list[_Quote]
    memory_kind: MemoryKind

    def quotes_of(self, facet: Facet) -> list[_Quote]:
        by_facet: dict[Facet, list[_Quote]] = {
            "personal_info": self.personal_info,
            "preferences": self.preferences,
            "events": self.events,
        }
        return by_facet[facet]


class LLMTagger:
    """Asks a language model for the facets of an exchange, one request per exchange.

        with LLMTagger(base_url="http://localhost:11434/v1", model="qwen3:8b") as tagger:
            facets = tagger.tag("I moved to Connewitz in April.", "Congratulations!")

    A quote that does not stand word for word on its side is left out: a facet without a
    source could not be shown. `timeout_seconds` is per request; `max_retries` counts the
    client's repetitions after lost connections, timeouts, 429 and 5xx. `tag` raises
    `ConfigurationError` when the endpoint still fails then, or answers something else than
    the JSON it was asked for.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 2,
    ) -> None:
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._client = OpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            timeout=timeout_seconds,
            max_retries=max_retries,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._client.close()

    @property
    def name(self) -> str:
        """The tagger's name, as stored beside what it found."""
        return f"llm:{self._model}"

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets that the model quotes from either side of one exchange."""
        answer = self._parse(self._complete(_Exchange(user=user_text, assistant=assistant_text)))
        texts: dict[Side, str] = {"user": user_text, "assistant": assistant_text}
        spans = tuple(
            span
            for facet in FACETS
            for quote in answer.quotes_of(facet)
            if (span := self._locate(facet, quote, texts[quote.side])) is not None
        )
        return build_facets(spans, answer.memory_kind)

    def _complete(self, exchange: "_Exchange") -> str:
        try:
            completion = self._client.chat.completions.create(
                model=self._model,
                temperature=0,
                messages=[
                    {"role": "system", "content": _PROMPT},
                    {"role": "user", "content": exchange.model_dump_json()},
                ],
                response_format={
                    "type": "json_schema",
                    "json_schema": {
                        "name": "facets",
                        "strict": True,
                        "schema": _Answer.model_json_schema(),
                    },
                },
            )
        except APIError as error:
            raise ConfigurationError(
                f"the facet model {self._model} at {shown_url(self._base_url)} can't be used:"
                f" {hide_secrets(error, self._api_key, self._base_url)};"
                " check the URL, the key and the model, or use the rule tagger"
            ) from error
        return (completion.choices[0].message.content or "") if completion.choices else ""

    def _parse(self, content: str) -> _Answer:
        try:
            return _Answer.model_validate_json(content)
        except ValidationError as error:
            raise ConfigurationError(
                f"the facet model {self._model} did not answer the JSON it was asked for"
                f" ({error.error_count()} faults); choose a model that supports JSON schemas"
            ) from error

    def _locate(self, facet: Facet, quote: _Quote, text: str) -> FacetSpan | None:
        start = text.find(quote.quote) if quote.quote.strip() else -1
        if start < 0:
            return None
        return FacetSpan(
            facet=facet,
            rule=self.name,
            text=quote.quote,
            start=start,
            end=start + len(quote.quote),
            side=quote.side,
        )


class _Exchange(BaseModel):
    user: str
    assistant: str
