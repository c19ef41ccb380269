"""`bench keep`: of what is asked for later, how much stays when a context shrinks, by scorer and by chance."""
