"""Reading records for the Messages page.

``command.py`` turns a request into the arguments of ``ottla consume``. ``reading.py`` reads
forwards, and ``newest.py`` reads backwards. ``rendering.py`` prepares a record for the page, and
``download.py`` writes records to files.
"""
