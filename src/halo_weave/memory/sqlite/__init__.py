"""The memory in one SQLite file. All SQL of the project is in this package.

`store` implements the protocols of `memory.store`. `database` opens and locks the file. `schema` defines the tables in
numbered steps, and `migrating` runs the missing ones. Each of the other modules handles one table or one kind of row.
"""
