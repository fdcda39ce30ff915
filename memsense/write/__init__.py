"""A conversation in, a draft out: messages, exchanges, chunks, facets, vectors."""
