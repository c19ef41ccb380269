"""Windows at work: the turn, what is saved of them, and what they tell."""
