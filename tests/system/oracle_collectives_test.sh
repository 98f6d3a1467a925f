#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collectives by every algorithm, in place and not, against MPI: each member's result must be the same. Where MPI says
# nothing (special values, rounding) a model in plain C judges, see native/tests/oracle.
#   LCI_LAUNCHER=lci_run LCI_LIBRARY=.../liblci.so oracle_collectives_test.sh test|soak|COMBINATION
# A combination is for example "3 counts", or "4 counts 2": then two ranks share a host, and some algorithms look at that. It needs Open MPI or MPICH, and compares with both if both are there; in a small
# dose with MPICH only where each rank has a processor, for its ranks do not yield.
# Mutations that must make it fail: ring_receives_into_sum, alltoall_in_place_received_at_once.
set -uo pipefail

readonly launcher=${LCI_LAUNCHER:?path of lci_run} library=${LCI_LIBRARY:?path of liblci.so} dose=${1:?test, soak or a combination}
home=$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../..")
readonly home sources=$home/native/tests/oracle
readonly LIMIT_S=600
work=$(mktemp -d "${TMPDIR:-/tmp}/lci-oracle-collectives.XXXXXX")
readonly work
trap 'rm -rf "$work"' EXIT
libraries=() passed=0 failed=0

# Parts of the cases, for so many ranks, of which so many share a host, or all: counts about the borders of all algorithms, all operators with all types, floats.
parts() {
  if [[ $dose == test ]]; then
    printf '%s\n' '1 counts' '2 counts' '3 counts' '4 counts' '2 operators' '3 operators' '5 operators' '3 floats' '4 floats' \
      '4 counts 2' '5 operators 2' '4 floats 3'
  elif [[ $dose != soak ]]; then
    echo "$dose"
  else
    local ranks
    for ranks in {1..9}; do printf '%s\n' "$ranks counts" "$ranks operators" "$ranks floats"; done
    for ranks in {3..9}; do printf '%s\n' "$ranks counts 2" "$ranks operators 2" "$ranks floats 2"; done
    printf '%s\n' '7 counts 3' '9 counts 4' '9 floats 4'
  fi
}

build() {
  local flags=(-O2 -Wall -Werror -I "$home/native/include") mpi
  gcc -std=c11 "${flags[@]}" -o "$work/ours" "$sources/collectives.c" -L "$(dirname "$library")" -llci \
    "-Wl,-rpath,$(dirname "$library")" -lm || exit 1
  for mpi in openmpi mpich; do
    if ! command -v "mpicc.$mpi" > /dev/null || ! command -v "mpiexec.$mpi" > /dev/null; then
      echo "SKIPPED: nothing is compared with $mpi, which is not here"
      continue
    fi
    "mpicc.$mpi" "${flags[@]}" -o "$work/$mpi" "$sources/collectives_mpi.c" || exit 1
    libraries+=("$mpi")
  done
  ((${#libraries[@]} > 0)) || { echo "neither Open MPI nor MPICH is here"; exit 1; }
}

# The vector instructions of Open MPI 4.1.4 add 8- and 16-bit integers with saturation.
run_openmpi() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout $LIMIT_S mpiexec.openmpi --mca op ^avx \
    --mca mpi_yield_when_idle 1 --oversubscribe --bind-to none -n "$1" "$work/openmpi" "${@:2}"
}
run_mpich() { timeout $LIMIT_S mpiexec.mpich -n "$1" "$work/mpich" "${@:2}"; }
# run_ours RANKS RANKS_PER_HOST ARGUMENTS...
run_ours() { LCI_ATTR_RANKS_PER_HOST=$2 timeout $LIMIT_S "$launcher" -n "$1" "$work/ours" "${@:3}"; }

# compare MPI FOLDER RANKS: prints what of ours MPI has otherwise, and what we have not made; how many results there were goes
# to FOLDER/compared. MPICH 4.0.2 compares unsigned numbers as signed ones: those are left to Open MPI.
compare() {
  local rank code=0 left_out=no
  [[ $1 != mpich ]] || left_out='/u(8|16|32|64)/(min|max)/'
  for ((rank = 0; rank < $3; rank++)); do
    awk -v mpi="$1" -v rank="$rank" -v left_out="$left_out" -v total="$2/compared" '
      $1 ~ left_out { next }
      FNR == NR { expected[$1] = $2; next }
      $1 in expected { compared++; made[$1] = 1 }
      $1 in expected && expected[$1] != $4 && ++wrong <= 5 { print "member " rank ": " $1 " by " $2 ", " $3 ": " mpi " has another" }
      END {
        for (call in expected) if (!(call in made)) { print "nobody made " call; wrong++ }
        print compared + 0 >> total
        exit wrong > 0 || !compared
      }' "$2/$1.$rank" "$2/ours.$rank" || code=1
  done
  return $code
}

# agree FOLDER: members of an allreduce, and one member in place or not, have the same to the last bit.
agree() {
  awk '{ key = $1 " " $2; if ($1 !~ /^allreduce\//) key = key FILENAME }
    key in first && first[key] != $4 && !told[key]++ { print $1 " by " $2 ": members, or places, differ"; wrong++ }
    { first[key] = $4 }
    END { exit wrong > 0 }' "$1"/ours.*
}

# is_compared MPI RANKS
is_compared() {
  [[ $1 == openmpi || $dose == soak ]] || (($2 <= $(nproc))) || [[ " ${libraries[*]} " != *" openmpi "* ]]
}

# run_part RANKS PART [RANKS_PER_HOST]
run_part() {
  local folder=$work/$1-$2 mpi code=0
  mkdir -p "$folder"
  run_ours "$1" "${3:-0}" "$2" "$folder" ours || return 1
  agree "$folder" || code=1
  if [[ $2 == floats ]]; then
    echo "$(cat "$folder"/ours.* | wc -l) results by the model" > "$folder/note"
    return $code
  fi
  for mpi in "${libraries[@]}"; do
    is_compared "$mpi" "$1" || continue
    "run_$mpi" "$1" "$2" "$folder" "$mpi" && compare "$mpi" "$folder" "$1" || code=1
  done
  awk '{ sum += $1 } END { print sum " results compared" }' "$folder/compared" > "$folder/note"
  return $code
}

build
while read -r ranks part per_host; do
  start=$SECONDS what="$ranks ranks, $part${per_host:+, $per_host to a host}"
  if run_part "$ranks" "$part" ${per_host:+"$per_host"} > "$work/log" 2>&1 < /dev/null; then
    echo "ok      $what: $(< "$work/$ranks-$part/note"), $((SECONDS - start)) s"
    passed=$((passed + 1))
  else
    echo "FAILED  $what"
    head -n 20 "$work/log"
    failed=$((failed + 1))
  fi
  rm -rf "${work:?}/$ranks-$part"
done < <(parts)
echo "compared with: ${libraries[*]}"
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
