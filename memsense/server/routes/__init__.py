"""Routes of the HTTP API: tables of operations, and the few routes that are no method of Python."""
