"""`bench keep`: how much later-needed evidence survives when a context shrinks, by scorer and by chance."""
