"""Finds what is wrong with a database, and mends what a recount can mend."""
