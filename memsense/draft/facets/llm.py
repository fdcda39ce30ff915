"""Tagger of facets by a language model behind an OpenAI-compatible /chat/completions endpoint.

`memsense.draft.facets` does not import it: it needs the `llm` extra, and no search ever calls it.
"""

from typing import Self

from openai import APIError, OpenAI
from pydantic import BaseModel, ConfigDict, ValidationError

from memsense.config import hide_secrets, shown_url
from memsense.draft.facets.model import FACETS, Facet, Facets, FacetSpan, Side, build_facets
from memsense.errors import ConfigurationError
from memsense.types import MemoryKind

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


class LLMTagger:
    """Tagger that asks a language model for the facets, one request for each exchange.

        with LLMTagger(base_url="http://localhost:11434/v1", model="qwen3:8b") as tagger:
            facets = tagger.tag("I moved to Connewitz in April.", "Congratulations!")

    Args:
        base_url: Address of the endpoint, without `/chat/completions`.
        model: Name of the model; it must support JSON schemas.
        api_key: Key of the endpoint, if it needs one.
        timeout_seconds: Limit of each request.
        max_retries: Further attempts after lost connections, timeouts, 429 and 5xx.
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
            # Without any key the client would send the user's OPENAI_API_KEY to this server.
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
        """Name of the tagger, stored with the facets that it finds."""
        return f"llm:{self._model}"

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets that the model quotes from either side of one exchange.

        Args:
            user_text: The user's side; may be empty.
            assistant_text: The assistant's side; may be empty.

        Raises:
            ConfigurationError: If the endpoint fails in every attempt, or does not answer with
                the JSON of the schema.
        """
        answer = self._request_quotes(_Exchange(user=user_text, assistant=assistant_text))
        quotes: dict[Facet, list[_Quote]] = {
            "personal_info": answer.personal_info,
            "preferences": answer.preferences,
            "events": answer.events,
        }
        texts: dict[Side, str] = {"user": user_text, "assistant": assistant_text}
        spans: list[FacetSpan] = []
        for facet in FACETS:
            for quote in quotes[facet]:
                # Models rephrase. A quote that is not on its side word for word is left out: a
                # facet without a source could not be shown.
                start = texts[quote.side].find(quote.quote) if quote.quote.strip() else -1
                if start >= 0:
                    span = FacetSpan(
                        facet=facet,
                        rule=self.name,
                        text=quote.quote,
                        start=start,
                        end=start + len(quote.quote),
                        side=quote.side,
                    )
                    spans.append(span)
        return build_facets(tuple(spans), answer.memory_kind)

    def _request_quotes(self, exchange: "_Exchange") -> _Answer:
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
        content = (completion.choices[0].message.content or "") if completion.choices else ""
        try:
            return _Answer.model_validate_json(content)
        except ValidationError as error:
            raise ConfigurationError(
                f"the facet model {self._model} did not answer with the JSON it was asked for"
                f" ({error.error_count()} faults); choose a model that supports JSON schemas"
            ) from error


class _Exchange(BaseModel):
    user: str
    assistant: str
