"""The calendar by which a question's words become days: that of the one who asks."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Calendar of the asker.

    Attributes:
        zone: Their time zone.
        week_start: Weekday on which their weeks begin.
        hemisphere: Side of the equator whose seasons count.
        date_order: Order of day and month in 03/04/2024; "both" reads it both ways.
    """

    zone: tzinfo = UTC
    week_start: Literal["monday", "sunday", "saturday"] = "monday"
    hemisphere: Literal["north", "south"] = "north"
    date_order: Literal["both", "dmy", "mdy"] = "both"

    def day_of(self, moment: datetime, *, zone_known: bool = True) -> date:
        """Return the day of a memory's time: of the stored clock, if its zone is unknown."""
        return moment.astimezone(self.zone if zone_known else UTC).date()


DEFAULT_CALENDAR = Calendar()
