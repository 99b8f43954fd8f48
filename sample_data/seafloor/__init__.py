"""Seafloor scenes: habitats, and the animals, plants, stones and things in them."""
