"""What a store must do, as protocols: chunks and vectors, windows, notes, the memory tree. Stores implement them."""
