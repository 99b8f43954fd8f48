"""Import of images: scan a folder, read its metadata files, and plan which image belongs to which dive."""
