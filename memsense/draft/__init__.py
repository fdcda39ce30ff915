"""Messages turned into drafts: exchanges, chunks, facets, vectors. Nothing here writes a row."""
