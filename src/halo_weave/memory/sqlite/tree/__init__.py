"""The memory tree in SQLite: versions of entries, and the chunks in their snapshots."""
