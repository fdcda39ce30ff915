"""Puts memsense into the configuration of hosts of models, and takes it out again.

Each change is the smallest edit of a person's file that does it: what else stands there, with its
comments and blanks, stays as it is.
"""
