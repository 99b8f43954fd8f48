"""Decide when labelling may stop: freeze the labels as a version, check it on random draws, and test the claim."""
