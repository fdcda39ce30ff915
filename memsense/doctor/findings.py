"""What an examination finds, its report, and what it knows beforehand."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from memsense.config import Settings
from memsense.embed import Embedder, find_token_embedder

FILE = "doctor.sql"
"""Where the statements of an examination stand."""

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that the examination found: what, how bad, and what to do about it."""

    check: str
    severity: Severity
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, the worst first."""

    findings: Sequence[Finding]

    @property
    def severity(self) -> Severity:
        """The worst severity found; info on a healthy database."""
        worst = max((SEVERITIES.index(item.severity) for item in self.findings), default=0)
        return SEVERITIES[worst]

    @property
    def exit_code(self) -> int:
        """0 on a healthy database, 1 with warnings, 2 with errors."""
        return SEVERITIES.index(self.severity)

    def problems(self) -> list[Finding]:
        """The findings that call for something to be done."""
        return [item for item in self.findings if item.severity != "info"]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "severity": self.severity,
            "findings": [asdict(finding) for finding in self.findings],
        }


def make_report(findings: Sequence[Finding]) -> Report:
    """A report of the findings, the worst first."""
    ordered = sorted(findings, key=lambda item: -SEVERITIES.index(item.severity))
    return Report(findings=ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the examiner knows beforehand of the namespace that is in use.

    `tokens`: whether what is stored is to have token vectors.
    """

    tenant: str
    namespace: str
    model: str
    dimension: int
    trace_days: float
    index_threshold: int
    tokens: bool = False

    @classmethod
    def of(cls, settings: Settings, embedder: Embedder) -> Self:
        """What these settings and this embedder let expect."""
        return cls(
            tenant=settings.tenant,
            namespace=settings.namespace,
            model=embedder.model,
            dimension=embedder.dimension,
            trace_days=settings.trace_days,
            index_threshold=settings.index_threshold,
            tokens=settings.token_vectors and find_token_embedder(embedder) is not None,
        )
