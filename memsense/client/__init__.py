"""What users hold: MemSense and its parts; the only package that composes the others."""
