"""Time as a question names it, by the calendar of the one who asks."""
