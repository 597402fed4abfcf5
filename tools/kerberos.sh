#!/usr/bin/env bash
# What the Kerberos tests make their realm with: MIT's key distribution center and kinit.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin exec "$(dirname "$0")/debian.sh" 'the Kerberos tests' \
  krb5kdc:krb5-kdc kadmin.local:krb5-admin-server kinit:krb5-user
