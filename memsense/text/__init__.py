"""What writing and searching both read of a text; pure."""
