"""Writing of conversations: messages, exchanges, chunks, facets, vectors, ready for the store."""
