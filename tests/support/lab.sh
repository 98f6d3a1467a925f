# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Jobs on hosts of `./lci net-lab`: those that LCI_LAB_HOSTS names, with commas between; without it on this one.
IFS=, read -ra lab_hosts <<< "${LCI_LAB_HOSTS:-}"

# Options of `./lci run` for a job there.
lab_options=()
# shellcheck disable=SC2034  # the tests use it
((${#lab_hosts[@]} == 0)) || lab_options=(--hosts "$LCI_LAB_HOSTS" --launch-agent 'ip netns exec {}')

# beside RANK RANKS COMMAND...: on the host of a rank. The ranks lie in blocks, as `./lci run` puts them.
beside() {
  local rank=$1 ranks=$2 hosts=${#lab_hosts[@]} at=()
  shift 2
  ((hosts == 0)) || at=(ip netns exec "${lab_hosts[rank / ((ranks + hosts - 1) / hosts)]}")
  "${at[@]}" "$@"
}

# rank_pid LAUNCHER RANK: the JVM of that rank: a child of the launcher, or of its agent on another host.
rank_pid() {
  local pid candidates host
  candidates=$(cat "/proc/$1/task/$1/children" 2> /dev/null)
  for host in "${lab_hosts[@]}"; do candidates+=" $(ip netns pids "$host")"; done
  for pid in $candidates; do
    { [[ $(< "/proc/$pid/comm") == java ]] && has_variable "$pid" "LCI_RANK=$2"; } 2> /dev/null &&
      echo "$pid" && return
  done
  return 1
}
