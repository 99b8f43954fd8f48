"""From labels to knowledge: review and its proofs, agreement, vocabularies as trees, learning, cover."""
