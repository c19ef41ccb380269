"""`bench peers`: our search beside other packages, over the same chunks and vectors, each in a process of its own."""
