"""Programs that measure memsense's source or write a part of it."""
