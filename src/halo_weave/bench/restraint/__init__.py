"""`bench restraint`: how little returns for messages that need nothing, and how soon the model answers them."""
