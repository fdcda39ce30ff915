"""Puts the layers together: the only module that composes store, recall, rerank, embed, ingest."""

from memsense.engine.memory import MemSense

__all__ = ["MemSense"]
