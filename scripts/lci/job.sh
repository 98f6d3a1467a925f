# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci job: what ranks need that ./lci run does not start.

usage_job() {
  cat << 'EOF'
Usage: ./lci job new DIR -n N [--root HOST:PORT]

Makes directory DIR with what the N ranks of a job need to find each other where something else than ./lci run starts them,
and prints the environment of each rank, one line a rank, from rank 0 on. Quoted for a shell:

  ./lci job new DIR -n 2 | while read -r settings; do eval "$settings program &"; done; wait

Without --root the ranks are on this host, and DIR has their secret and the job's number:
  LCI_JOB_DIR=DIR LCI_RANK=0 LCI_SIZE=2
With --root they may be on several hosts. DIR has their secret; copy it to the same path on each host:
  LCI_ROOT=HOST:PORT LCI_SECRET_FILE=DIR/secret LCI_RANK=0 LCI_SIZE=2

  -n N, --ranks N   number of ranks, 1 to 65535
  --root HOST:PORT  where rank 0 answers: a name or address of its host, and a port that is free there; [ADDRESS]:PORT for
                    an address of IPv6

DIR may be there, if it is empty and yours; nobody else can read it afterwards. It serves one job: ranks that have left may join
again, ranks that were killed may not. Remove it when the job is over. Nobody ends the other ranks when one fails: whatever
starts them has to do that.
Exit codes: 0 done, 1 it cannot be done, 2 wrong command line.
EOF
}

cmd_job() {
  [[ ${1:-} == new ]] || misused "job what? new; see ./lci job --help"
  shift
  job_new "$@"
}

job_new() {
  local folder='' ranks='' root=''
  while (($# > 0)); do
    case $1 in
      -n | --ranks | --root) (($# > 1)) || misused "$1 needs a value; see ./lci job --help" ;;&
      -n | --ranks) ranks=$2; shift 2 ;;
      --root) root=$2; need_root "$root"; shift 2 ;;
      -*) misused "job new has no option '$1'; see ./lci job --help" ;;
      *)
        [[ -z $folder ]] || misused "job new makes one directory, not '$folder' and '$1'; see ./lci job --help"
        folder=$1
        shift
        ;;
    esac
  done
  [[ -n $folder ]] || misused "job new in which directory? see ./lci job --help"
  [[ -n $ranks ]] || misused "job new needs the number of ranks, -n N; see ./lci job --help"
  need_number "$ranks" job
  make_private "$folder"
  folder=$(cd "$folder" && pwd -P)
  make_job "$folder" "$root"
  print_ranks "$((10#$ranks))" "$folder" "$root"
}

# need_root TEXT: HOST:PORT or [ADDRESS]:PORT.
need_root() {
  [[ $1 =~ ^([^][/:[:space:]]+|\[[0-9a-fA-F:.]+\]):([0-9]{1,5})$ ]] &&
    ((10#${BASH_REMATCH[2]} >= 1 && 10#${BASH_REMATCH[2]} <= 65535)) ||
    misused "--root needs HOST:PORT or [ADDRESS]:PORT, not '$1'; see ./lci job --help"
}

# make_private FOLDER: an empty one of the caller's own, that nobody else can read.
make_private() {
  local why
  if [[ -e $1 || -L $1 ]]; then
    [[ -d $1 && ! -L $1 ]] || die "$1 is there already, and is no directory"
    [[ -O $1 ]] || die "directory $1 is not yours"
    [[ -z $(ls -A "$1") ]] || die "directory $1 is not empty: a job needs one of its own"
    why=$(chmod 700 "$1" 2>&1) || die "directory $1 cannot be made private: ${why##*: }"
  else
    why=$(mkdir -m 700 -- "$1" 2>&1) || die "directory $1 cannot be made: ${why##*: }"
  fi
}

# make_job FOLDER ROOT: the job's number last, without which nobody takes the directory for one of a job.
make_job() {
  local id
  (umask 077 && head -c 32 /dev/urandom > "$1/secret") 2> /dev/null || die "$1/secret cannot be written"
  [[ -z $2 ]] || return 0
  id=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \n')
  (umask 077 && printf '%s' "$id" > "$1/job") 2> /dev/null || die "$1/job cannot be written"
}

# print_ranks RANKS FOLDER ROOT
print_ranks() {
  local rank where
  if [[ -z $3 ]]; then
    printf -v where 'LCI_JOB_DIR=%q' "$2"
  else
    printf -v where 'LCI_ROOT=%q LCI_SECRET_FILE=%q' "$3" "$2/secret"
  fi
  for ((rank = 0; rank < $1; rank++)); do echo "$where LCI_RANK=$rank LCI_SIZE=$1"; done
}
