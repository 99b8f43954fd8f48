"""Choose the page to label next: typical images first, then the page with the highest predicted gain per minute."""
