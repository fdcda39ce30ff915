"""Storage of chunks: every statement that writes them or reads them back, but for recall."""
