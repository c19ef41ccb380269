"""Damage in the SQLite memory: finding it, setting damaged rows aside, and rebuilding derived data."""
