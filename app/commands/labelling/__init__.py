"""Commands about labels, suggestions, cover and the crowd."""
