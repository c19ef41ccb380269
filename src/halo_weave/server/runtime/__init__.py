"""What runs behind the endpoints: the engine, the queue of turns, windows that are followed, jobs and downloads."""
