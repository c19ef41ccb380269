"""Search over words and meaning: candidates, their ranking, and what a hit says about itself."""
