"""A window's timeline: an entry for each save that changed the context.

`previous` is the number of the entry before it, so that a missing entry is noticed. `end_byte` is the sum of all
payloads up to and including this one, so that the size of the timeline is known without reading it.
"""

SQL = """
CREATE TABLE timeline (
    window TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    previous INTEGER NOT NULL CHECK (previous >= 0 AND previous < number),
    time INTEGER NOT NULL,
    end_byte INTEGER NOT NULL,
    payload BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (window, number)
) STRICT;
"""
