"""The score and choose phases, which rank candidates and choose hits, and rerankers."""
