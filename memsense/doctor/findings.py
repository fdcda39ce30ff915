"""Findings of an examination, their report, and the expectations that they are compared with."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from memsense.config import Settings
from memsense.db.rows import Named
from memsense.embed import Embedder, find_token_embedder

FILE = "doctor.sql"
"""The file of the examination's statements."""

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of an examination: the check, its severity, a text, and a remedy.

    A function in `CHECKS` leaves the check's name out, which is declared there. `fix` is true if
    `memsense doctor --repair` mends it.
    """

    check: str = ""
    severity: Severity
    text: str
    remedy: str = ""
    fix: bool = False


def info(text: str, remedy: str = "", *, check: str = "") -> Finding:
    """Return a finding that needs no action."""
    return Finding(check=check, severity="info", text=text, remedy=remedy)


def warning(text: str, remedy: str = "", *, check: str = "", fix: bool = False) -> Finding:
    """Return a finding on something that slows or will break."""
    return Finding(check=check, severity="warning", text=text, remedy=remedy, fix=fix)


def error(text: str, remedy: str = "", *, check: str = "", fix: bool = False) -> Finding:
    """Return a finding on something that is broken."""
    return Finding(check=check, severity="error", text=text, remedy=remedy, fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, the most severe first."""

    findings: Sequence[Finding]

    @property
    def severity(self) -> Severity:
        """The highest severity of all findings; info for a healthy database."""
        worst = max((SEVERITIES.index(item.severity) for item in self.findings), default=0)
        return SEVERITIES[worst]

    @property
    def exit_code(self) -> int:
        """0 for a healthy database, 1 with warnings, 2 with errors."""
        return SEVERITIES.index(self.severity)

    def problems(self) -> list[Finding]:
        """Return the findings that need action."""
        return [item for item in self.findings if item.severity != "info"]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "severity": self.severity,
            "findings": [asdict(finding) for finding in self.findings],
        }


def make_report(findings: Sequence[Finding]) -> Report:
    """Return a report of the findings, the most severe first."""
    ordered = sorted(findings, key=lambda item: -SEVERITIES.index(item.severity))
    return Report(findings=ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected properties of the namespace in use.

    `tokens` is true if stored exchanges should have token vectors. With `deep`, all exchanges are
    examined, and not the newest of each namespace alone. With `secrets`, all texts are searched for
    them.
    """

    tenant: str
    namespace: str
    model: str
    dimension: int
    trace_days: float
    index_threshold: int
    index_users: int = 16
    tokens: bool = False
    purge_days: float = 30
    deep: bool = False
    secrets: bool = False

    @classmethod
    def of(
        cls, settings: Settings, embedder: Embedder, *, deep: bool = False, secrets: bool = False
    ) -> Self:
        """Return what these settings and this embedder imply."""
        return cls(
            tenant=settings.tenant,
            namespace=settings.namespace,
            model=embedder.model,
            dimension=embedder.dimension,
            trace_days=settings.trace_days,
            index_threshold=settings.index_threshold,
            index_users=settings.index_users,
            tokens=settings.token_vectors and find_token_embedder(embedder) is not None,
            purge_days=settings.purge_days,
            deep=deep,
            secrets=secrets,
        )

    def command(self, verb: str, place: Named) -> str:
        """Return the command of a remedy, which works on one namespace alone.

        Args:
            verb: The command's words behind `memsense`.
            place: Row with the columns `tenant` and `namespace`. Their options are left out only
                where both the row and the caller have the default.
        """
        options = [
            f" --{name} {shlex.quote(place[name])}"
            for name, here in (("tenant", self.tenant), ("namespace", self.namespace))
            if {place[name], here} != {"default"}
        ]
        return f"memsense{''.join(options)} {verb}"
