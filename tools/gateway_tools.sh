#!/usr/bin/env bash
# Installs the programs that the files and examples of the gateway's guide are for: sshd, HAProxy, and systemd's checks of units.
PATH=$PATH:/usr/sbin:/sbin exec "$(dirname "$0")/install_packages.sh" 'the tests of the gateway' \
  sshd:openssh-server ssh:openssh-client haproxy:haproxy systemd-analyze:systemd
