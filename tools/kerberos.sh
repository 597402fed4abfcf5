#!/usr/bin/env bash
# Installs the tools of the Kerberos tests: MIT's key distribution center and kinit.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin exec "$(dirname "$0")/install_packages.sh" 'the Kerberos tests' \
  krb5kdc:krb5-kdc kadmin.local:krb5-admin-server kinit:krb5-user
