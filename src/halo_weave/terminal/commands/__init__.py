"""The arguments of all commands (`…_arguments`, and `bench`), and what the commands other than chat and study do."""
