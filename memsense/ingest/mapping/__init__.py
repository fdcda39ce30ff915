"""Formats that a mapping describes: where a file keeps its messages, roles, texts and times."""
