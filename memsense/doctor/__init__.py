"""The examination of a database: `memsense doctor`, and the page's health view."""
