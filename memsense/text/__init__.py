"""Text rules that storing and searching share, so that both see the same words; no database."""
