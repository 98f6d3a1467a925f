# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a page of docs/guide tells its reader to type.

# page_commands PAGE: the lines of its blocks of sh, with their comments. A block of another shell is for no test, and refused.
page_commands() {
  local file
  file=$(dirname "${BASH_SOURCE[0]}")/../../docs/guide/$1
  ! grep -nE '^```(bash|shell|console|zsh)' "$file" || fail "$1 has a block that nothing runs: name it sh"
  sed -n '/^```sh$/,/^```$/p' "$file" | grep -vE '^(```.*)?$' || fail "$1 has no block of sh"
}
# command_of LINE and comment_of LINE: what stands before and after the last " # "; no comment: nothing.
command_of() { sed -E 's/ +# [^#]*$//' <<< "$1"; }
comment_of() { sed -nE 's/^.* # ([^#]*)$/\1/p' <<< "$1"; }
