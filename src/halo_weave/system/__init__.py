"""Access to the operating system: background threads, child processes, private files, and the log."""
