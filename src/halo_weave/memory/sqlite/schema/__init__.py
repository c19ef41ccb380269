"""The tables of the SQLite memory, as numbered steps. Never change a released step; add a new one.

Numbers without an upper limit are stored as keys (see `records.numbers`). Times are microseconds since 1970 in UTC.
`checksum` covers a row, because SQLite itself does not detect a flipped bit.
"""

from halo_weave.memory.sqlite.schema import (
    step_01_first_tables,
    step_02_notes,
    step_03_tree,
    step_04_outlines,
    step_05_wishes,
    step_06_burial_brightness,
    step_07_damage,
    step_08_shared_snapshots,
    step_09_totals,
    step_10_languages,
    step_11_token_keys,
    step_12_keys_of_texts_before,
    step_13_chunks_of_windows,
    step_14_timeline,
    step_15_window_places,
)

APPLICATION_ID = 0x48616C6F
"""Marks the file as a Halo Weave memory: "Halo" in ASCII."""

MIGRATIONS = (
    step_01_first_tables.SQL,
    step_02_notes.SQL,
    step_03_tree.SQL,
    step_04_outlines.SQL,
    step_05_wishes.SQL,
    step_06_burial_brightness.SQL,
    step_07_damage.SQL,
    step_08_shared_snapshots.SQL,
    step_09_totals.SQL,
    step_10_languages.SQL,
    step_11_token_keys.SQL,
    step_12_keys_of_texts_before.SQL,
    step_13_chunks_of_windows.SQL,
    step_14_timeline.SQL,
    step_15_window_places.SQL,
)
"""Migration N upgrades a database from version N to version N + 1."""
