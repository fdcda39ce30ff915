"""Client: MemSense and its resources; the only package that composes the others."""
