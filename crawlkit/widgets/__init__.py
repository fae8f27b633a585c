"""Widgets for a notebook: core ipywidgets alone, and a line of text where they cannot be shown."""
