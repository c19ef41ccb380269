"""All versions of the notes; the highest is the current one."""

SQL = """
CREATE TABLE notes (
    version INTEGER PRIMARY KEY CHECK (version > 0),
    time INTEGER NOT NULL,
    origin TEXT NOT NULL,
    command TEXT NOT NULL,
    document TEXT NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
"""
