"""Labelling: review, audits, agreement, vocabularies, model suggestions and cover estimates."""
