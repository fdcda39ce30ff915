"""The server: an HTTP API under /v1, a page under /ui, health and metrics, in one process.

Its packages are an extra: `pip install 'memsense[server]'`.
"""
