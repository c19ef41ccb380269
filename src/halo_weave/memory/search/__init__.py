"""Search by words and by meaning: candidates, ranking and hits."""
