"""Adapters that make memsense the memory of frameworks for agents: one file and one extra each."""
