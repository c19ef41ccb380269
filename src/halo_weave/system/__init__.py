"""The operating system: background threads, child processes, files that only their owner reads, the log."""
