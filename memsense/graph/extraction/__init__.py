"""Extraction of the entities that texts and questions name; pure, without a model or database."""
