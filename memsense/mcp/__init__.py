"""The MCP server: seven tools by which a model recalls, remembers and asks why.

Each tool is a method of a user's memory as Python has it (`memory.for_user`), and each answer names
what was searched. Whose memory it is, who starts the server says, or a key: never the model.
"""
