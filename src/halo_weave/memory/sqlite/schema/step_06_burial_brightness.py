"""The brightness of each token of a buried chunk; NULL in earlier rows, whose checksums do not cover it."""

SQL = """
ALTER TABLE burials ADD COLUMN brightness BLOB;
"""
