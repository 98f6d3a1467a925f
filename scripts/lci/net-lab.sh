# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci net-lab: hosts on this machine, as network namespaces.

readonly LAB=/run/lci-net-lab LAB_NETWORK=10.67.0 LAB_MOST=64

usage_net-lab() {
  cat << EOF
Usage: ./lci net-lab up N [--delay MS] [--jitter MS] [--loss PART] [--reorder] [--rate MBIT] [--reset MS]
                          [--seed SEED]
       ./lci net-lab drop|pass|reset|lose HOST OTHER
       ./lci net-lab exec HOST COMMAND [ARGUMENT...]
       ./lci net-lab status
       ./lci net-lab down

Makes N hosts (2 to $LAB_MOST) out of this machine, to try what runs on several: network namespaces lab1 to labN, with addresses
$LAB_NETWORK.1 to $LAB_NETWORK.N, which know each other by name. Files and processes are those of this machine. Needs root. One
lab at a time.

Without options the kernel joins them, at full speed. With one, a program does, which treats packets as the options say:
  --delay MS     every packet takes so long
  --jitter MS    and up to so much longer
  --loss PART    this part of them is lost, 0 to 1
  --reorder      jitter may change their order
  --rate MBIT    what a host receives, at most
  --reset MS     so often every TCP connection breaks: one end is told that the other one has reset it
  --seed SEED    what happens to a packet depends on the seed, on the two hosts and on how many packets went before it (1)
Then it can also be told:
  drop HOST OTHER    what HOST sends to OTHER is lost, until pass HOST OTHER; the other direction is not touched
  reset HOST OTHER   OTHER takes each TCP connection on which HOST sends something next for broken, and HOST does not know
  lose HOST OTHER    what HOST sends to OTHER on the TCP connections that there are is lost; new ones are not touched
down removes the lab and prints how many packets went, and were lost, between each two hosts.
Exit codes: 0 done, 1 it cannot be done, 2 wrong command line; those of COMMAND.
EOF
}

cmd_net-lab() {
  local command=${1:-}
  (($# == 0)) || shift
  case $command in
    up) lab_up "$@" ;;
    exec) lab_exec "$@" ;;
    drop | pass | reset | lose) lab_tell "$command" "$@" ;;
    status) lab_status ;;
    down) lab_down ;;
    *) misused "net-lab what? up, drop, pass, reset, lose, exec, status or down; see ./lci net-lab --help" ;;
  esac
}

# lab_number OPTION VALUE PATTERN
lab_number() { [[ ${2:-} =~ ^$3$ ]] || misused "$1 needs a number, not '${2:-}'; see ./lci net-lab --help"; }

# thousand_times NUMBER: as a whole number.
thousand_times() { awk -v n="$1" 'BEGIN { printf "%.0f\n", n * 1000 }'; }

lab_up() {
  local hosts=${1:-} treatment=()
  [[ $hosts =~ ^[0-9]{1,2}$ ]] && ((10#$hosts >= 2 && 10#$hosts <= LAB_MOST)) ||
    misused "net-lab up needs a number of hosts, 2 to $LAB_MOST; see ./lci net-lab --help"
  hosts=$((10#$hosts))
  shift
  while (($# > 0)); do
    case $1 in
      --delay | --jitter)
        lab_number "$1" "${2:-}" '[0-9]+(\.[0-9]+)?'
        treatment+=("$1-us" "$(thousand_times "$2")")
        ;;
      --loss)
        lab_number "$1" "${2:-}" '(0?\.[0-9]+|[01])'
        treatment+=("$1" "$2")
        ;;
      --rate)
        lab_number "$1" "${2:-}" '[0-9]+(\.[0-9]+)?'
        treatment+=("$1-kbit" "$(thousand_times "$2")")
        ;;
      --reset)
        lab_number "$1" "${2:-}" '[0-9]{1,9}'
        treatment+=("$1-ms" "$2")
        ;;
      --seed)
        lab_number "$1" "${2:-}" '[0-9]{1,15}'
        treatment+=("$1" "$2")
        ;;
      --reorder)
        treatment+=("$1" 1)
        shift
        continue
        ;;
      *) misused "net-lab up has no option '$1'; see ./lci net-lab --help" ;;
    esac
    shift 2
  done
  lab_can
  [[ ! -e $LAB ]] || die "there is a lab already; ./lci net-lab down removes it"
  build
  mkdir "$LAB" && echo "$hosts" > "$LAB/hosts"
  # In a process of its own, whose first failure ends it: bash does not heed that within a condition.
  local code=0
  "$home/lci" --suite lab_make "$hosts" "${treatment[@]}" > "$LAB/log" 2>&1 || code=$?
  if ((code != 0)); then
    tail -n 3 "$LAB/log" >&2
    lab_remove
    rm -rf "$LAB"
    die "the lab could not be made"
  fi
  lab_status
}

# What it needs beside root: namespaces and, for what is between them, TUN devices.
lab_can() {
  [[ $(id -u) == 0 ]] || die "net-lab needs root: it makes network namespaces"
  command -v ip > /dev/null || install_packages iproute2
  [[ -c /dev/net/tun ]] || die "net-lab needs /dev/net/tun, which is not there"
}

lab_hosts() { seq -f "lab%g" 1 "$1"; }

# lab_make HOSTS [TREATMENT...]: hosts, what joins them, and their addresses.
lab_make() {
  local hosts=$1 number
  shift
  lab_make_hosts "$hosts"
  if (($# == 0)); then lab_join_by_kernel "$hosts"; else lab_join_by_program "$hosts" "$@"; fi
  for ((number = 1; number <= hosts; number++)); do
    ip -n "lab$number" addr add "$LAB_NETWORK.$number/24" dev lab0
    ip -n "lab$number" link set lab0 up
  done
}

# Names are looked up in the namespace's own file. [ip-netns]
lab_make_hosts() {
  local host number
  for host in $(lab_hosts "$1"); do
    ip netns add "$host"
    ip -n "$host" link set lo up
    mkdir -p "/etc/netns/$host"
    echo "127.0.0.1 localhost" > "/etc/netns/$host/hosts"
    for ((number = 1; number <= $1; number++)); do
      echo "$LAB_NETWORK.$number lab$number" >> "/etc/netns/$host/hosts"
    done
    # A rank that a launcher started listens at the address of its host's name, which is this machine's in all of them.
    echo "$LAB_NETWORK.${host#lab} $(hostname)" >> "/etc/netns/$host/hosts"
  done
}

# A bridge in a namespace of its own, which no address leads to.
lab_join_by_kernel() {
  local number
  ip netns add lab-bridge
  ip -n lab-bridge link add bridge type bridge
  ip -n lab-bridge link set bridge up
  for ((number = 1; number <= $1; number++)); do
    ip -n "lab$number" link add lab0 type veth peer name "port$number" netns lab-bridge
    ip -n lab-bridge link set "port$number" master bridge up
  done
}

lab_join_by_program() {
  local hosts=$1 tries
  shift
  : > "$LAB/network"
  mkfifo "$LAB/commands"
  # shellcheck disable=SC2046 # names without blanks
  setsid "$native_build/lci_net_lab" "$@" $(lab_hosts "$hosts") > "$LAB/network" 2>&1 <> "$LAB/commands" &
  echo $! > "$LAB/pid"
  for ((tries = 0; tries < 100; tries++)); do
    ! grep -qx up "$LAB/network" || return 0
    kill -0 "$(< "$LAB/pid")" 2> /dev/null || break
    sleep 0.1
  done
  cat "$LAB/network" >&2
  return 1
}

lab_runs() { [[ $(tr '\0' ' ' < "/proc/$1/cmdline" 2> /dev/null) == *lci_net_lab* ]]; }

lab_exec() {
  local host=${1:-}
  (($# >= 2)) || misused "net-lab exec needs a host and a command; see ./lci net-lab --help"
  lab_is_up
  lab_number_of "$host" > /dev/null
  shift
  exec ip netns exec "$host" "$@"
}

lab_tell() {
  local from to
  (($# == 3)) || misused "net-lab $1 needs two hosts; see ./lci net-lab --help"
  lab_is_up
  from=$(lab_number_of "$2") to=$(lab_number_of "$3")
  [[ $from != "$to" ]] || misused "net-lab $1 needs two hosts, not $2 twice"
  [[ -e $LAB/pid ]] || die "the kernel joins these hosts; make the lab with an option, such as --delay 0, to $1 what goes between them"
  lab_status > /dev/null
  echo "$1 $from $to" > "$LAB/commands"
}

# lab_number_of HOST: the N of labN.
lab_number_of() {
  lab_hosts "$(< "$LAB/hosts")" | grep -qx "$1" || die "no such host in the lab: $1; they are lab1 to lab$(< "$LAB/hosts")"
  echo "${1#lab}"
}

lab_is_up() { [[ -e $LAB/hosts ]] || die "there is no lab; ./lci net-lab up N makes one"; }

lab_status() {
  lab_is_up
  local hosts joined="the kernel"
  hosts=$(< "$LAB/hosts")
  if [[ -e $LAB/pid ]]; then
    lab_runs "$(< "$LAB/pid")" || die "the program that joins the hosts has ended; ./lci net-lab down, and make it anew"
    joined=$(tr '\0' ' ' < "/proc/$(< "$LAB/pid")/cmdline" | sed -E 's/^[^ ]*(lci_net_lab)/\1/; s/ lab[0-9]+//g; s/ *$//')
  fi
  echo "$hosts hosts, lab1 to lab$hosts, $LAB_NETWORK.1 to $LAB_NETWORK.$hosts, joined by $joined"
}

lab_down() {
  lab_is_up
  [[ $(id -u) == 0 ]] || die "net-lab needs root"
  lab_remove
  [[ ! -e $LAB/network ]] || sed '/^up$/d' "$LAB/network"
  rm -rf "$LAB"
}

# Ends what was begun, however far that went.
lab_remove() {
  local pid host
  if [[ -e $LAB/pid ]]; then
    pid=$(< "$LAB/pid")
    ! lab_runs "$pid" || kill "$pid"
    while lab_runs "$pid"; do sleep 0.05; done
  fi
  for host in $(lab_hosts "$(< "$LAB/hosts")") lab-bridge; do
    [[ ! -e /run/netns/$host ]] || ip netns del "$host"
    rm -rf "/etc/netns/$host"
  done
}
