"""One HTTP request to an identity's endpoint, and its JSON response.

Invariants: redirects are refused, because a request contains a secret for its address alone;
a response is bounded in size, and in time as a whole, however slowly its bytes arrive; no message
repeats a header or a proxy. Metadata servers are never asked through a proxy.
"""

from __future__ import annotations

import json
import random
import ssl
import time
from collections.abc import Iterable, Mapping
from email.message import Message
from http.client import HTTPException, InvalidURL
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from ottla._internal.identities.http_deadline import DeadlineHandler, DeadlineHttpsHandler
from ottla._internal.identities.identity import printable
from ottla._internal.text import reason

# Seconds for one response: a metadata server is one hop away, and a token endpoint answers at once.
WAIT = 3.0
_ATTEMPTS = 3
_PAUSE = 0.2
_MAX_RESPONSE = 1024 * 1024
# Statuses by which these endpoints ask for another attempt.
_PASSING = {404, 410, 429, 500, 502, 503, 504}


class Response(NamedTuple):
    """A response of any status."""

    status: int
    headers: Message
    body: bytes


class EndpointError(Exception):
    """An endpoint that did not respond, or not with what was requested."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        """Refuse: the error is the response with its status."""


def request_json(
    what: str,
    url: str,
    *,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    proxied: bool = False,
    secrets: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the JSON object of a response with status 200.

    Args:
        what: the endpoint, for messages.
        url: its address, without a query.
        query: the parameters of the query.
        headers: the headers of the request.
        form: the form to post; without one, the request is a GET.
        proxied: whether the environment's proxies apply.
        secrets: texts that no message may contain.

    Raises:
        EndpointError: there is no such response after three attempts.
    """
    response = request(what, url, query=query, headers=headers, form=form, proxied=proxied)
    if response.status != 200:
        raise refused(what, url, response, secrets)
    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise EndpointError(f"{what} ({url}) responded with something else than a JSON object")
    return document


def request(
    what: str,
    url: str,
    *,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    proxied: bool = False,
) -> Response:
    """Return a response of any status; temporary failures are retried.

    Raises:
        EndpointError: there is no response.
    """
    target = f"{url}?{urlencode(query)}" if query else url
    if urlsplit(target).scheme not in {"http", "https"}:
        raise EndpointError(f"{what}: {printable(url)} is not an http or https address")
    data = None if form is None else urlencode(form).encode()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            response = _send(
                Request(target, data=data, headers=dict(headers or {})),  # noqa: S310  # checked
                proxied=proxied,
            )
        except InvalidURL:
            raise _unsendable(what, url, proxied=proxied) from None
        except (OSError, HTTPException) as error:
            cause = error.reason if isinstance(error, URLError) else error
            why = reason(cause) if isinstance(cause, Exception) else str(cause)
            if attempt == _ATTEMPTS or isinstance(cause, TimeoutError | ssl.SSLError):
                why = printable(why or type(error).__name__)
                raise EndpointError(f"{what} ({url}) does not respond: {why}") from None
        except ValueError:
            raise _unsendable(what, url, proxied=proxied) from None
        else:
            if len(response.body) > _MAX_RESPONSE:
                raise EndpointError(f"{what} ({url}) sent more than {_MAX_RESPONSE} bytes")
            if response.status not in _PASSING or attempt == _ATTEMPTS:
                return response
        # Many processes of one machine may have been refused at the same moment.
        time.sleep(_PAUSE * 2**attempt * random.uniform(0.5, 1.0))  # noqa: S311
    raise AssertionError("the last attempt returns or raises")


def _unsendable(what: str, url: str, *, proxied: bool) -> EndpointError:
    """Return the error for a request that cannot be written, whose own error repeats its parts."""
    parts = "its address, a header or HTTPS_PROXY" if proxied else "its address or a header"
    return EndpointError(
        f"{what} ({printable(url)}) cannot be asked: {parts} is malformed; "
        "check the environment for line breaks and characters that are not percent-encoded"
    )


def refused(what: str, url: str, response: Response, secrets: Iterable[str] = ()) -> EndpointError:
    """Return the error for a response with another status, with what it says about the cause."""
    why = ""
    try:
        document = json.loads(response.body)
        described = [document.get("error"), document.get("error_description")]
        described = [part for part in described if isinstance(part, str)]
        why = ": ".join(["", *described])
    except (ValueError, AttributeError, RecursionError):
        pass
    text = f"{what} ({url}) responded with status {response.status}{why}"
    return EndpointError(printable(text, secrets))


def _send(request: Request, *, proxied: bool) -> Response:
    proxies = ProxyHandler() if proxied else ProxyHandler({})
    deadline = time.monotonic() + WAIT
    handlers = DeadlineHandler(deadline), DeadlineHttpsHandler(deadline)
    opener = build_opener(proxies, _NoRedirect(), *handlers)
    try:
        opened = opener.open(request, timeout=WAIT)
    except HTTPError as error:
        # A response whose status is an error.
        opened = error
    with opened:
        body = opened.read(_MAX_RESPONSE + 1)
        return Response(opened.status, opened.headers, body)
