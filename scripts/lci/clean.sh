# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci clean.

cmd_clean() {
  rm -rf "$home"/target "$home"/*/target "$home"/native/build*
  rm -rf "$state"
}
