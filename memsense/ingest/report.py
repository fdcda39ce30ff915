"""The report of a run of reading: everything is counted, so that nothing is dropped in silence.

Other importers lost text without a word: JSON filed as prose and reported as a success
(MemPalace#677), 66 of 1,510 conversations stored with `Skipped 0` (nexus-ai-chat-importer#76).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Unit = Literal["message", "conversation", "file"]

EXAMPLES_KEPT = 5
NO_MESSAGE = "not a message"
"""The reason for leaving out records that are none; the type of the record may follow."""

_REASONS_SHOWN = 3
_UNITS: tuple[Unit, ...] = ("message", "conversation", "file")
# The option or the step that would keep what was left out for a reason.
_REMEDIES = {
    "sidechain": "of sub-agents: --sidechains reads them",
    "abandoned branch": "on branches that were left: --all-branches reads them",
    "rolled back": "of turns that were taken back: --all-branches reads them",
    "only looks like a conversation (--guessed reads it)": (
        "only guessed to be a conversation: --guessed reads it"
    ),
    "file of another kind": "of a kind that holds no log: name the file itself, if it is one",
    "side file of an export": "next to an export's conversations: give the whole export",
    "symbolic link in a folder": "that is a symbolic link: name it itself",
}


@dataclass(slots=True)
class Tally:
    """A count of one kind of event, and the first few places: (source, line)."""

    unit: Unit = "message"
    count: int = 0
    examples: list[tuple[str, int | None]] = field(default_factory=list[tuple[str, int | None]])

    def add(self, source: str, line: int | None, count: int = 1) -> None:
        """Count one event, or several at one place."""
        self.count += count
        if len(self.examples) < EXAMPLES_KEPT:
            self.examples.append((source, line))


@dataclass(slots=True)
class ReadReport:
    """The counts of one run of reading. Readers write them, the caller shows them.

    `messages_kept` counts the messages of the conversations that were read; `joined` counts records
    that became part of another message (one answer written as several lines); every other record
    is in `skipped` under its reason. `injected_blocks` counts the parts of messages that a hook or
    a memory had put there. `detected` maps a log to its format and the reason for it.
    `seen_ids` maps ids that this run has read to the log that had them first: a resumed session's
    file repeats its predecessor's lines. `taken_as_user` maps a log of people to the speakers whose
    side became the user's because the caller named no speaker. `unknown_types` counts, for each
    format, the records of types that its reader does not know.
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
    unknown_types: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    @property
    def messages_read(self) -> int:
        """The records looked at: kept, joined or skipped."""
        return self.messages_kept + self.joined + self.count_skipped("message")

    @property
    def conversations_read(self) -> int:
        """The conversations looked at: those that were read, and those skipped as a whole."""
        return self.conversations + self.count_skipped("conversation")

    @property
    def skip_counts(self) -> Mapping[str, int]:
        """The number of skipped items by reason."""
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
        """Count something that is left out, under a reason that people can read."""
        # Called for most lines of a log: a tally is made once for each reason only.
        tally = self.skipped.get(reason)
        if tally is None:
            tally = self.skipped[reason] = Tally(unit)
        tally.add(source, line, count)

    def count_skipped(self, unit: Unit) -> int:
        """Return how many messages, conversations or files were left out."""
        return sum(tally.count for tally in self.skipped.values() if tally.unit == unit)

    def explain_nothing(self) -> str | None:
        """Return why no message was kept, and which option would keep some.

        None if a message was kept, or if there was nothing to keep.
        """
        if self.messages_kept:
            return None
        # Only the smallest unit is explained: where messages were left out, the conversations
        # that are empty for it would say the same again.
        tallies = {
            reason: tally
            for reason, tally in self.skipped.items()
            if not reason.startswith(NO_MESSAGE)
        }
        units = {tally.unit for tally in tallies.values()}
        unit: Unit | None = next((one for one in _UNITS if one in units), None)
        counts = {reason: tally.count for reason, tally in tallies.items() if tally.unit == unit}
        total = sum(counts.values())
        commonest = sorted(counts.items(), key=lambda item: -item[1])[:_REASONS_SHOWN]
        explanations = [
            f"{'all ' if count == total > 1 else ''}{count} {unit}{'s' * (count > 1)}"
            f" {_REMEDIES.get(reason, f'left out as: {reason}')}"
            for reason, count in commonest
        ]
        return "; ".join(explanations) or None

    def note_time(self, at: datetime | None) -> None:
        """Extend the time span to one message's time."""
        if at is None:
            return
        self.earliest = min(self.earliest or at, at)
        self.latest = max(self.latest or at, at)

    def note_user(self, source: str, name: str) -> None:
        """Note whose side of a log was taken for the user's."""
        names = self.taken_as_user.setdefault(source, [])
        if name not in names:
            names.append(name)
