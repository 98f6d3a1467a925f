#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts one rank in a container: rank.sh PROGRAM [ARGUMENT...]. LCI_ROOT and LCI_SIZE are given; the rank is the number at the end
# of the host's name (lci-0, lci-1, ...) unless LCI_RANK says it. LCI_MOUNTED_SECRET is the job's secret as it was mounted, of
# whatever owner and mode: the rank gets a copy that only its user can read, as the library demands.
set -eu

if [ -z "${LCI_RANK:-}" ]; then
  name=$(hostname)
  LCI_RANK=${name##*-}
  case $LCI_RANK in
    '' | *[!0-9]*)
      echo "rank.sh: LCI_RANK is not set, and the host's name does not end in -NUMBER: $name" >&2
      exit 2
      ;;
  esac
fi
export LCI_RANK

if [ -n "${LCI_MOUNTED_SECRET:-}" ]; then
  umask 077
  LCI_SECRET_FILE=$(mktemp "${TMPDIR:-/tmp}/lci-secret.XXXXXX")
  cat "$LCI_MOUNTED_SECRET" > "$LCI_SECRET_FILE"
  export LCI_SECRET_FILE
fi

exec "$@"
