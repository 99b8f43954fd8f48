"""Computation and storage. Nothing here imports the app."""
