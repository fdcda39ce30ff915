"""Hooks of coding agents: recall memories before a prompt, ingest a session when a turn ends.

An agent starts a short-lived process for each event (`client`). It sends the event to a daemon
(`daemon`), which keeps the memory open. The client imports only the standard library, because the
agent waits for it at every prompt.
"""
