"""Jobs side by side, as a value that shows itself: text, page, frame, files."""
