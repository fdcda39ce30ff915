"""The page under /ui: look into a memory, ask it, and see why.

Everything is written by the server and can be read and done without JavaScript; htmx, of which a
copy stands in `static/`, only spares reloading while sliders move.
"""
