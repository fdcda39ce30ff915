"""MCP server: seven tools with which a model recalls, remembers, and asks why.

Each tool calls a method of one user's memory (`memory.for_user`), and each answer is a short text
that names the user. The command line or a key chooses the user, never the model.
"""
