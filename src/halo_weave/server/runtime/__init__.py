"""The parts behind the endpoints: the engine, the turn queue, window feeds, jobs and downloads."""
