"""Adapters that make memsense the memory of agent frameworks: one file and one extra each."""
