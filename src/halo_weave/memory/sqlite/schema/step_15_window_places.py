"""Where a window stands in the list: its folder, and its place if somebody moved it there."""

SQL = """
CREATE TABLE window_places (
    window TEXT PRIMARY KEY,
    folder TEXT NOT NULL,
    place INTEGER,
    checksum INTEGER NOT NULL
) STRICT;
"""
