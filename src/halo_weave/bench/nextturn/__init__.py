"""`bench nextturn`: how well the model expects the true next turn in the context that each policy offers."""
