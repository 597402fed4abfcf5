"""Reading records for the Messages page.

``command.py`` turns a request into the arguments of ``ottla consume``, ``reading.py`` reads
forwards and ``newest.py`` backwards, ``rendering.py`` makes what the page shows of a record, and
``download.py`` files.
"""
