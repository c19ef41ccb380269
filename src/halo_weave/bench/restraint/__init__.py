"""`bench restraint`: how little returns for messages that need no memory, and how soon the model answers them."""
