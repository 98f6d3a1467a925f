#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_symbols.sh lci.h liblci.so [sanitizer]
# Fails unless the library exports exactly the functions declared LCI_API in the header, and needs only the C library and the unwinder of the process.
set -eu
header=$1
library=$2
sanitizer=${3:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Declarations may be broken over lines: join, drop comments, cut at semicolons. The name stands before the first "(".
tr '\n' ' ' <"$header" | sed 's#/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/# #g' | tr ';' '\n' |
  sed -n 's/^.*LCI_API [^(]*[ *]\(lci_[a-z0-9_]*\)(.*$/\1/p' | sort -u >"$work/declared"
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u >"$work/exported"

[ -s "$work/declared" ] || { echo "no LCI_API declaration found in $header"; exit 1; }
if ! diff "$work/declared" "$work/exported" >"$work/difference"; then
  echo "declared in $(basename "$header") (<) and exported by $(basename "$library") (>) differ:"
  cat "$work/difference"
  exit 1
fi

if [ -z "$sanitizer" ]; then
  foreign=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -Ev '^(libc|libm|libpthread|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so\.[0-9]+$' || true)
  if [ -n "$foreign" ]; then
    echo "needs more than the C library and libgcc_s: $foreign"
    exit 1
  fi
fi
echo "$(wc -l <"$work/exported") functions, as declared"
