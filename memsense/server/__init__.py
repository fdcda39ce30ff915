"""HTTP server: an API under /v1, a web page under /ui, MCP, health and metrics in one process.

Its packages are an extra: `pip install 'memsense[server]'`.
"""
