"""The memory in one SQLite file. All SQL of the project is in this package.

`store` implements the protocols of `memory.store`; `database` opens, migrates and locks the file; `schema` has the
tables as numbered steps. The other modules each know one table or one kind of row.
"""
