"""Pictures: a table goes in, the Axes come out.

Every function takes ``ax=None`` and makes a figure of its own only then; it never shows, saves or
closes one, and leaves rcParams alone. Titles state what was found. Colors are those of Okabe and
Ito, told apart by line style, marker or hatch as well, so that pictures read in gray. Text from
the web is escaped, so that neither a ``$`` nor a leading ``_`` in it means anything.
"""
