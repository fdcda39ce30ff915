"""The lexical route's two ways to score words, behind one interface: BM25F and ts_rank_cd.

A text index says which lines of recall.sql score the route, with which parameters, and what its
score is. Both read the same stored index: a tsvector a chunk, its fields' lengths, and the
frequency of each lexeme.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from memsense.search.profiles import Profile


class TextIndex(Protocol):
    """How the words of a question are matched and scored."""

    @property
    def name(self) -> str:
        """The marker of its lines in recall.sql, and the kind of its scores."""
        ...

    @property
    def has_ceiling(self) -> bool:
        """Whether recall tells the largest score that a chunk could have for the question."""
        ...

    def parameters(self) -> Mapping[str, float]:
        """The parameters of its lines in recall.sql."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25f:
    """Any word may match; scored by BM25F (Robertson and Zaragoza 2009), 0 to the ceiling.

    The ceiling is `k1 + 1` times the summed idf of the question's words. What the assistant says,
    and the context, also weigh less the more the assistant writes in this memory.
    """

    k1: float
    b: float
    weight_user: float
    weight_assistant: float
    weight_tag: float
    weight_context: float
    postings_budget: int
    name: str = "bm25f"
    has_ceiling: bool = True

    @classmethod
    def of(cls, profile: Profile) -> "Bm25f":
        """BM25F with the profile's constants."""
        return cls(
            k1=profile.k1,
            b=profile.b,
            weight_user=profile.weight_user,
            weight_assistant=profile.weight_assistant,
            weight_tag=profile.weight_tag,
            weight_context=profile.weight_context,
            postings_budget=profile.postings_budget,
        )

    def parameters(self) -> Mapping[str, float]:
        """The constants."""
        return {
            "k1": self.k1,
            "b": self.b,
            "weight_user": self.weight_user,
            "weight_assistant": self.weight_assistant,
            "weight_tag": self.weight_tag,
            "weight_context": self.weight_context,
            "postings_budget": self.postings_budget,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TsRank:
    """Every word must match; scored by PostgreSQL's ts_rank_cd over the chunk's own text.

    The score is 0 or more, without a ceiling that could be told beforehand.
    """

    name: str = "ts_rank"
    has_ceiling: bool = False

    def parameters(self) -> Mapping[str, float]:
        """None: ts_rank_cd weighs the fields as PostgreSQL's default does."""
        return {}


_INDEXES: Mapping[str, Callable[[Profile], TextIndex]] = {
    "bm25f": Bm25f.of,
    "ts_rank": lambda _: TsRank(),
}


def text_index(profile: Profile) -> TextIndex:
    """The text index that the profile's `lexical_mode` names, with the profile's constants."""
    return _INDEXES[profile.lexical_mode](profile)
