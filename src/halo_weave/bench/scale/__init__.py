"""`bench scale`: the memory with up to a million made-up chunks, measured in processes of their own."""
