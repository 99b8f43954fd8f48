"""View models: what can be shown and done, without widgets, so that tests need no browser."""
