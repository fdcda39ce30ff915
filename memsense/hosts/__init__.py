"""Installation of memsense in the configuration files of coding agents, and its removal.

A change is the smallest edit that does it: other settings, comments and blank lines stay.
"""
