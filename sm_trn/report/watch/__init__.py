"""Jobs as they run: what a line says, and the displays that redraw it."""
