"""Photo albums: landscapes, people and things, drawn as a camera takes them."""
