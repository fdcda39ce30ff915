"""Explanations of searches: recorded traces, replays, and verdicts on single memories."""
