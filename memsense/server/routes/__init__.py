"""Routes of the HTTP API: each calls a method of the Python API and returns its answer."""
