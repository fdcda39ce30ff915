"""Counts everything that reading met, so that nothing is dropped in silence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Unit = Literal["message", "conversation", "file"]

EXAMPLES_KEPT = 5
NO_MESSAGE = "not a message"
_REASONS_TOLD = 3
_UNITS: tuple[Unit, ...] = ("message", "conversation", "file")
# What a caller can do about a reason.
_REMEDIES = {
    "sidechain": "of sub-agents: --sidechains reads them",
    "abandoned branch": "on branches that were left: --all-branches reads them",
    "rolled back": "of turns that were taken back: --all-branches reads them",
    "only looks like a conversation (--guessed reads it)": (
        "only guessed to be a conversation: --guessed reads it"
    ),
    "file of another kind": "of a kind that holds no log: name the file itself, if it is one",
    "side file of an export": "beside an export's conversations: give the whole export",
    "symbolic link in a folder": "that is a symbolic link: name it itself",
}


@dataclass(slots=True)
class Tally:
    """How often something happened, and the first few places: (source, line)."""

    unit: Unit = "message"
    count: int = 0
    examples: list[tuple[str, int | None]] = field(default_factory=list[tuple[str, int | None]])

    def add(self, source: str, line: int | None, count: int = 1) -> None:
        """Count one more time, or several at one place."""
        self.count += count
        if len(self.examples) < EXAMPLES_KEPT:
            self.examples.append((source, line))


@dataclass(slots=True)
class ReadReport:
    """What one run of reading met. Readers write it, the caller shows it.

    `messages_kept` are in the conversations that came out; `joined` are records that became
    part of a kept message (one answer written as several lines); every other record is in
    `skipped` under its reason. `injected_blocks` are parts of messages that a hook or a memory had
    put there. `seen_ids` maps a format's message ids that already came out in
    this run to their session: a resumed session file repeats its predecessor's lines.
    `taken_as_user` says by log whose side became the user's where people talk to each other and
    nobody was named.
    """

    conversations: int = 0
    messages_kept: int = 0
    joined: int = 0
    records: int = 0
    replaced_characters: int = 0
    injected_blocks: int = 0
    unusable_times: int = 0
    earliest: datetime | None = None
    latest: datetime | None = None
    skipped: dict[str, Tally] = field(default_factory=dict[str, Tally])
    reencoded_lines: Tally = field(default_factory=Tally)
    warnings: list[str] = field(default_factory=list[str])
    detected: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    seen_ids: dict[str, str] = field(default_factory=dict[str, str])
    taken_as_user: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def messages_read(self) -> int:
        """Every record looked at: kept, joined or skipped."""
        return self.messages_kept + self.joined + self._count_skipped("message")

    @property
    def conversations_read(self) -> int:
        """Every conversation looked at: those that came out and those skipped whole."""
        return self.conversations + self._count_skipped("conversation")

    @property
    def skip_counts(self) -> Mapping[str, int]:
        """How much was skipped, by reason."""
        return {reason: tally.count for reason, tally in self.skipped.items()}

    def skip(
        self,
        reason: str,
        source: str,
        line: int | None = None,
        *,
        unit: Unit = "message",
        count: int = 1,
    ) -> None:
        """Count something that is not kept, under a reason a person can read."""
        self.skipped.setdefault(reason, Tally(unit)).add(source, line, count)

    def explain_nothing(self) -> str | None:
        """Why no message was kept, and what would keep some; None where one was, or none met."""
        if self.messages_kept:
            return None
        units = {tally.unit for reason, tally in self.skipped.items() if reason != NO_MESSAGE}
        unit: Unit | None = next((one for one in _UNITS if one in units), None)
        counted = {
            reason: tally.count
            for reason, tally in self.skipped.items()
            if tally.unit == unit and reason != NO_MESSAGE
        }
        total = sum(counted.values())
        told = [
            f"{'all ' if count == total > 1 else ''}{count} {unit}{'s' * (count > 1)}"
            f" {_REMEDIES.get(reason, f'left out as: {reason}')}"
            for reason, count in sorted(counted.items(), key=lambda item: -item[1])[:_REASONS_TOLD]
        ]
        return "; ".join(told) or None

    def note_time(self, at: datetime | None) -> None:
        """Widen the time span by one message's time."""
        if at is None:
            return
        self.earliest = min(self.earliest or at, at)
        self.latest = max(self.latest or at, at)

    def note_user(self, source: str, name: str) -> None:
        """Remember whose side of a log was taken for the user's."""
        names = self.taken_as_user.setdefault(source, [])
        if name not in names:
            names.append(name)

    def _count_skipped(self, unit: Unit) -> int:
        return sum(tally.count for tally in self.skipped.values() if tally.unit == unit)
