"""Answers the hooks of coding agents: recalls before a prompt, takes in what a session said.

A hook is a process that lives for a moment (`asking`), and asks one that stays (`keeper`), which
has the memory open. What the hook itself imports is of the standard library.
"""
