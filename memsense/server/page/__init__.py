"""Web page under /ui: browse a memory, ask it, and see why it answers as it does.

The server renders all of it, and it works without JavaScript. htmx only avoids reloading the page
while sliders move; `static/` has a copy of it.
"""
