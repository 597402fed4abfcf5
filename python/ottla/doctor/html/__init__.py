"""The report as one HTML file, to attach to a ticket.

Invariants: the file is complete in itself: it has no script, no link and no request to anywhere,
and a content security policy that forbids them. All texts go through ``markup``. Each state is
given as text, not only by colour.
"""

from ottla.doctor.html.page import page

__all__ = ["page"]
