"""Our own export format: writing everything, checking every line, and reading it back all or nothing."""
