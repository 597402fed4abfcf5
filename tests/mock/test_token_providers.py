"""A configuration may name a token provider, which the application or its environment allows."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.command import ottla_here

USER, PASSWORD = "ann", "hunter2-hunter2"
PROVIDERS = f"""
import pathlib

pathlib.Path(__file__).with_suffix(".imported").touch()

class Tokens:
    @staticmethod
    def fetch():
        return PASSWORD, 4102444800.0

def token():
    pathlib.Path(__file__).with_suffix(".called").touch()
    return PASSWORD

def fails():
    raise ValueError("no token today")

PASSWORD = {PASSWORD!r}
"""
NAMED = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
PROVIDER = "sasl.oauthbearer.token.provider"
VARIABLE = "OTTLA_TOKEN_PROVIDERS"
Allow = Callable[..., None]


@pytest.fixture
def secured() -> Iterator[MockCluster]:
    """A cluster that requires credentials, one of which is the token."""
    with MockCluster(users={USER: PASSWORD}) as cluster:
        cluster.create_topic("orders")
        yield cluster


@pytest.fixture(autouse=True)
def allow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Allow:
    """The modules `ottla_test_tokens` and `ottla_test_broken`; sets what is allowed."""
    (tmp_path / "ottla_test_tokens.py").write_text(PROVIDERS)
    (tmp_path / "ottla_test_broken.py").write_text("import ottla_test_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ottla_test_tokens", raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    return lambda *names: monkeypatch.setenv(VARIABLE, ", ".join(names))


def named(provider: str) -> dict[str, str]:
    return {**NAMED, PROVIDER: provider}


def test_a_callback_can_be_named(secured: MockCluster, allow: Allow) -> None:
    allow("ottla_test_tokens:fails", "ottla_test_tokens:Tokens.fetch")
    config = named("ottla_test_tokens:Tokens.fetch")
    with ottla.Client(secured.bootstrap, config) as client:
        assert len(client.cluster().brokers) == 3
        assert PASSWORD not in repr(client)
    config = named("ottla_test_tokens:fails")
    with pytest.raises(errors.AuthenticationError, match=f"{PROVIDER}.*no token today"):
        ottla.Client(secured.bootstrap, config)


async def _asynchronous(create: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
    await create(*arguments, **keywords).__aenter__()


def run(create: Callable[..., Any]) -> Callable[..., None]:
    return lambda *args, **kwargs: asyncio.run(_asynchronous(create, *args, **kwargs))


ROUTES: dict[str, Callable[[str, dict[str, str]], object]] = {
    "Client": ottla.Client,
    "Producer": ottla.Producer,
    "Consumer": lambda servers, config: ottla.Consumer(servers, config, group_id="g"),
    "ShareConsumer": lambda servers, config: ottla.ShareConsumer(servers, config, group_id="g"),
    "Admin": ottla.Admin,
    "AsyncClient": run(ottla.AsyncClient),
    "AsyncProducer": run(ottla.AsyncProducer),
    "AsyncConsumer": lambda servers, config: run(ottla.AsyncConsumer)(
        servers, config, group_id="g"
    ),
    "AsyncShareConsumer": lambda servers, config: run(ottla.AsyncShareConsumer)(
        servers, config, group_id="g"
    ),
    "AsyncAdmin": run(ottla.AsyncAdmin),
    "scan": lambda servers, config: list(ottla.scan("orders", servers, config=config)),
    "diagnose": lambda servers, config: ottla.diagnose(servers, config=config),
    "keyword": lambda servers, config: ottla.Client(
        servers, **cast(Any, {key.replace(".", "_"): value for key, value in config.items()})
    ),
    "one mapping": lambda servers, config: ottla.Client({"bootstrap.servers": servers, **config}),
}


@pytest.mark.parametrize("route", ROUTES)
def test_a_configuration_alone_imports_and_calls_nothing(
    secured: MockCluster, tmp_path: Path, route: str
) -> None:
    for name in ("ottla_test_tokens:token", "os:abort"):
        with pytest.raises(errors.ConfigError, match=rf"{VARIABLE}.*register_token_provider"):
            ROUTES[route](secured.bootstrap, named(name))
    assert "ottla_test_tokens" not in sys.modules
    assert not list(tmp_path.glob("*.imported"))


@pytest.mark.parametrize(
    "command", [["topics", "list"], ["doctor"], ["consume", "-t", "orders"], ["produce", "-t", "o"]]
)
def test_the_command_line_imports_and_calls_nothing(
    secured: MockCluster, tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"bootstrap.servers": secured.bootstrap, **named("ottla_test_tokens:token")}
    text = "".join(f"{key}={value}\n" for key, value in keys.items())
    (tmp_path / "client.properties").write_text(text)
    (tmp_path / "profiles.ini").write_text(f"[named]\n{text}")
    monkeypatch.setenv("OTTLA_PROFILES", str(tmp_path / "profiles.ini"))
    given = [f"--set={key}={value}" for key, value in keys.items()]
    file = ["--config", str(tmp_path / "client.properties")]
    for options in (file, ["--profile", "named"], given):
        done = ottla_here(*command, *options, stdin=b"x")
        assert done.code != 0
        assert VARIABLE in done.err + done.text
    assert not list(tmp_path.glob("*.imported"))


@pytest.mark.parametrize(
    ("allowed", "name", "works"),
    [
        ("ottla_test_tokens:token", "ottla_test_tokens:token", True),
        ("a:b , ottla_test_tokens:token ,", " ottla_test_tokens:token ", True),
        ("ottla_test_tokens:*", "ottla_test_tokens:token", True),
        ("ottla_test_tokens", "ottla_test_tokens:token", False),
        ("ottla_test_tokens:tok", "ottla_test_tokens:token", False),
        ("ottla_test_tokens:token", "ottla_test_tokens:fails", False),
        # The modules that a module imports are not its own names.
        ("ottla_test_tokens:*", "ottla_test_tokens:pathlib.Path", False),
        ("*", "ottla_test_tokens:token", False),
        ("*:*", "ottla_test_tokens:token", False),
        ("", "ottla_test_tokens:token", False),
    ],
)
def test_the_environment_lists_what_is_allowed(
    secured: MockCluster, monkeypatch: pytest.MonkeyPatch, allowed: str, name: str, works: bool
) -> None:
    monkeypatch.setenv(VARIABLE, allowed)
    if works:
        ottla.Client(secured.bootstrap, named(name)).close()
        return
    with pytest.raises(errors.ConfigError, match=VARIABLE):
        ottla.Client(secured.bootstrap, named(name))


def test_the_application_registers_a_provider(
    secured: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ottla._internal.token_providers._registered", {})

    @ottla.register_token_provider
    def token() -> str:
        return PASSWORD

    ottla.Client(secured.bootstrap, named(f"{__name__}:{token.__qualname__}")).close()
    nameless = functools.partial(token)
    assert ottla.register_token_provider(nameless, name="warehouse") is nameless
    ottla.Client(secured.bootstrap, named("warehouse")).close()
    with pytest.raises(errors.ConfigError, match="pass one as name"):
        ottla.register_token_provider(nameless)
    with pytest.raises(errors.ConfigError, match="expected a callable"):
        ottla.register_token_provider("os:abort")  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ottla_test_missing:token", "cannot be imported: ModuleNotFoundError.*--py-files"),
        ("ottla_test_broken:token", "No module named 'ottla_test_missing'"),
        ("ottla_test_tokens:missing", "has no attribute 'missing'"),
        ("ottla_test_tokens:PASSWORD", "is not callable"),
        ("ottla_test_tokens.fails", "expected the name of a callable, package.module:function"),
        ("ottla_test_tokens:", "expected the name of a callable"),
    ],
)
def test_an_invalid_callback_name_is_an_error_before_connecting(
    allow: Allow, name: str, message: str
) -> None:
    allow(name)
    with pytest.raises(errors.ConfigError, match=message):
        ottla.Client("127.0.0.1:9", named(name))
    with pytest.raises(errors.ConfigError, match=message):
        ottla.AsyncProducer("127.0.0.1:9", named(name))


def test_a_token_in_place_of_a_callback_name_is_not_shown(allow: Allow) -> None:
    for token in ("eyJhbGciOi.eyJzdWIi:hunter2-", "hunter2", "ann:hunter2"):
        with pytest.raises(errors.ConfigError) as raised:
            ottla.Client("127.0.0.1:9", named(token))
        assert "hunter2" not in repr(raised.value)
    allow("json:dumps")
    with pytest.raises(errors.ConfigError, match="choose one"):
        ottla.Client("127.0.0.1:9", named("json:dumps"), sasl_oauth_token=str)
