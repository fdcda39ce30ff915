"""The routes of the HTTP API: each hands its arguments to the Python API, and tells its answer."""
