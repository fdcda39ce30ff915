"""Web page under /ui: browse a memory, ask it, and see why it answers as it does.

The server renders all of it, and it works without JavaScript. htmx, of which a copy is in
`static/`, only avoids reloading the page while sliders move.
"""
