"""Our own export format: writes the whole memory, checks every line, and imports all or nothing."""
