"""Damage in the SQLite memory: finding it (`verify`), setting it aside, and making again what follows from the rest."""
