"""Identities for OAUTHBEARER: of a process on AWS, Azure, Google Cloud or Kubernetes.

Each is a callable for ``sasl_oauth_token``, and has a name for ``sasl.oauthbearer.token.provider``,
with its arguments as in the query of a URL: ``aws-msk-iam?region=eu-central-1``. A configuration
alone gets tokens that are good for Kafka only; others need permission
(``ottla._internal.token_providers``).
"""

from ottla._internal.identities.aws_msk_iam import AwsMskIam
from ottla._internal.identities.entra import AzureEventHubs, EntraId
from ottla._internal.identities.gcp_managed_kafka import GcpManagedKafka
from ottla._internal.identities.identity import Identity
from ottla._internal.identities.kubernetes import KubernetesServiceAccount

__all__ = [
    "AwsMskIam",
    "AzureEventHubs",
    "EntraId",
    "GcpManagedKafka",
    "Identity",
    "KubernetesServiceAccount",
]
