"""The identity of a process on AWS, for Amazon MSK with IAM.

The token is a presigned URL of ``kafka-cluster:Connect``, signed by botocore with the credentials
that botocore finds, and the same as that of AWS's own ``aws-msk-iam-sasl-signer-python``. It allows
connecting to MSK and nothing else, for 15 minutes, so a configuration may name it freely.
Invariant: a region, a profile and a role select among what the machine's owner has set up; no
address and no file comes from a configuration.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ottla._core import __version__
from ottla._internal.extras import MissingExtraError, require
from ottla._internal.identities.identity import (
    Identity,
    IdentityToken,
    check_texts,
    printable,
)
from ottla._internal.identities.json_web_token import base64url
from ottla.errors import ConfigError

_LIFETIME = 900
_SERVICE = "kafka-cluster"
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_ROLE = re.compile(r"arn:[a-z0-9-]+:iam::\d{12}:role/[\w+=,.@/-]{1,576}")
_SESSION = re.compile(r"[\w+=,.@-]{2,64}")
_AGENT = f"ottla/{__version__}"


class AwsMskIam(Identity):
    """Tokens for Amazon MSK with IAM; needs ``ottla[aws]``.

    Args:
        region: the cluster's region. Default: ``AWS_REGION``, ``AWS_DEFAULT_REGION``, or the
            profile's. By name in a configuration, that of the brokers' addresses comes first.
        profile: a profile of the AWS configuration files. Default: ``AWS_PROFILE``, or the default
            one.
        role: the ARN of a role to assume with the credentials that were found. Default: none.
        session: the name of the role's session, which AWS records. Default: ``ottla``.

    Raises:
        ConfigError: botocore is not installed, or an argument is malformed.
    """

    name = "aws-msk-iam"

    def __init__(
        self,
        region: str | None = None,
        *,
        profile: str | None = None,
        role: str | None = None,
        session: str = "ottla",
    ) -> None:
        check_texts(self.name, region=region, profile=profile, role=role, session=session)
        if region is not None and not _REGION.fullmatch(region):
            raise ConfigError(f"{self.name}: region: expected one such as eu-central-1")
        if role is not None and not _ROLE.fullmatch(role):
            raise ConfigError(f"{self.name}: role: expected arn:aws:iam::123456789012:role/NAME")
        if not _SESSION.fullmatch(session or ""):
            raise ConfigError(f"{self.name}: session: expected 2 to 64 letters, digits or +=,.@-_")
        try:
            require(self.name, "aws")
        except MissingExtraError as error:
            raise ConfigError(str(error)) from None
        self._region, self._profile, self._role, self._session = region, profile, role, session

    def fetch(self, secrets: list[str]) -> IdentityToken:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return self._fetch(secrets)
        except ClientError as error:
            fields = error.response.get("Error", {})
            why = f"{error.operation_name}: {fields.get('Code')}: {fields.get('Message')}"
            raise self.error(printable(f"AWS refused {why}", secrets)) from None
        except BotoCoreError as error:
            raise self.error(printable(f"botocore: {error}", secrets)) from None

    def _fetch(self, secrets: list[str]) -> IdentityToken:
        import botocore.session
        from botocore.config import Config

        # A new session each time: files and variables may have changed, and nothing is shared with
        # the parent of a fork.
        session = botocore.session.Session(profile=self._profile)
        limits = {"connect_timeout": 2, "read_timeout": 3, "retries": {"total_max_attempts": 2}}
        session.set_default_client_config(Config(**limits))
        region = self._region or self._region_of(session)
        credentials = session.get_credentials()
        if credentials is None:
            raise self._no_credentials(session)
        frozen = credentials.get_frozen_credentials()
        subject = f"the access key {frozen.access_key} (found by botocore as {credentials.method})"
        secrets += [text for text in (frozen.secret_key, frozen.token) if text]
        if self._role is not None:
            frozen = self._assumed(session, region, frozen)
            secrets += [frozen.secret_key, frozen.token]
            subject = f"the role {self._role}, assumed with {subject}"
        token, expires = presigned(frozen, region, _AGENT)
        return IdentityToken(token, expires, printable(f"{subject} in {region}"))

    def _region_of(self, session: Any) -> str:
        region = os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if not region:
            raise self.error(
                "the region of the cluster is not known: pass it, as in "
                "aws-msk-iam?region=eu-central-1, or set AWS_REGION"
            )
        if not _REGION.fullmatch(region):
            raise self.error("the region of the environment or the profile is malformed")
        return str(region)

    def _no_credentials(self, session: Any) -> Exception:
        providers = session.get_component("credential_provider").providers
        methods = ", ".join(str(provider.METHOD) for provider in providers)
        return self.error(
            f"no AWS credentials: botocore looked in {methods}; set AWS_PROFILE or the AWS_* "
            "variables of your environment, or give this machine, task or pod a role"
        )

    def _assumed(self, session: Any, region: str, frozen: Any) -> Any:
        from botocore.credentials import ReadOnlyCredentials

        client = session.create_client(
            "sts",
            region_name=region,
            aws_access_key_id=frozen.access_key,
            aws_secret_access_key=frozen.secret_key,
            aws_session_token=frozen.token,
        )
        response = client.assume_role(RoleArn=self._role, RoleSessionName=self._session)
        assumed = response["Credentials"]
        return ReadOnlyCredentials(
            assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"]
        )


def presigned(credentials: Any, region: str, agent: str) -> tuple[str, float]:
    """Return the token for credentials, and when it expires.

    Args:
        credentials: botocore's, frozen.
        region: the cluster's region.
        agent: the program that signs, which brokers log.
    """
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    url = f"https://kafka.{region}.amazonaws.com/"
    request = AWSRequest(method="GET", url=url, params={"Action": "kafka-cluster:Connect"})
    SigV4QueryAuth(credentials, _SERVICE, region, expires=_LIFETIME).add_auth(request)
    signed_at = parse_qs(urlsplit(request.url).query)["X-Amz-Date"][0]
    # Behind the signature, which does not include it.
    request.params = {"User-Agent": agent}
    moment = datetime.strptime(signed_at, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    token = base64url(str(request.prepare().url).encode())
    return token, moment.timestamp() + _LIFETIME
