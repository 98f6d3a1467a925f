#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares histograms with those of Debian's jellyfish, an independent k-mer counter, on real reads.
# Usage: oracle.sh [test|soak]. test: 6 cases in which every value occurs; soak: all 36.
# Environment: LCI_ORACLE_SEED (of the chaos transport; default random), LCI_READS (files instead of Debian's reads).
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly INSTALLED=/usr/share/doc/bowtie2/examples/reads
readonly LEAST_LINES=10 # a comparison of empty histograms would prove nothing

# k, strands, ranks, chaos
readonly SELECTED='
21 both 2 calm
31 one  4 calm
51 both 1 calm
21 one  1 chaos
31 both 2 chaos
51 one  4 chaos
'

all_cases() {
  local k strands ranks chaos
  for k in 21 31 51; do for strands in both one; do for ranks in 1 2 4; do for chaos in calm chaos; do
    echo "$k $strands $ranks $chaos"
  done; done; done; done
}

# find_reads: sets reads to compressed files of real reads.
find_reads() {
  if [[ -n ${LCI_READS:-} ]]; then
    read -r -a reads <<< "$LCI_READS"
    return
  fi
  if [[ ! -f $INSTALLED/reads_1.fq.gz ]]; then
    (cd "$folder" && { apt-get download bowtie2-examples || { apt-get update && apt-get download bowtie2-examples; }; } &&
      dpkg -x bowtie2-examples*.deb "$folder/package") > "$folder/reads.log" 2>&1 < /dev/null ||
      die "cannot fetch Debian's bowtie2-examples; name files of reads in LCI_READS"
    reads=("$folder/package$INSTALLED/reads_1.fq.gz" "$folder/package$INSTALLED/reads_2.fq.gz")
  else
    reads=("$INSTALLED/reads_1.fq.gz" "$INSTALLED/reads_2.fq.gz")
  fi
}

# expected K STRANDS: the file with jellyfish's histogram, made once.
expected() {
  local file=$folder/expected-$1-$2 canonical=()
  [[ $2 == one ]] || canonical=(-C)
  if [[ ! -f $file ]]; then
    gzip -cd "${reads[@]}" > "$folder/reads.fq" &&
      jellyfish count -m "$1" -s 10M -t 1 "${canonical[@]}" -o "$folder/counts.jf" "$folder/reads.fq" &&
      jellyfish histo -h 1000000000 "$folder/counts.jf" | tr ' ' '\t' > "$file" || return 1
  fi
  echo "$file"
}

# check_case K STRANDS RANKS CHAOS
check_case() {
  local k=$1 strands=$2 ranks=$3 chaos=$4 canonical=() start truth out=$folder/histogram log=$folder/log what
  what="k=$k strands=$strands ranks=$ranks $chaos"
  [[ $strands == one ]] || canonical=(--canonical)
  truth=$(expected "$k" "$strands") || { fail "$what: jellyfish failed"; return; }
  (($(wc -l < "$truth") >= LEAST_LINES)) || { fail "$what: jellyfish counted nothing"; return; }
  rm -f "$out"
  start=$(now_ms)
  (
    [[ $chaos == calm ]] || export LCI_ATTR_CHAOS="seed=$seed,delay=0.1,ticks=16,refuse=0.1,short=0.2"
    kmer "$ranks" -k "$k" "${canonical[@]}" --histogram "$out" "${reads[@]}"
  ) > "$log" 2>&1 || { fail "$what: exit code $?"; tail -n 5 "$log"; return; }
  # The count of those that occur once is compared too: it is exact although no table holds them.
  if cmp -s "$truth" "$out"; then
    pass "$what: $(wc -l < "$out") lines, $(($(now_ms) - start)) ms"
  else
    fail "$what: histograms differ"
    diff "$truth" "$out" | head -n 5
  fi
}

case ${1:-test} in
  test) cases=$(grep . <<< "$SELECTED") ;;
  soak) cases=$(all_cases) ;;
  *) die "usage: oracle.sh [test|soak]" ;;
esac
seed=${LCI_ORACLE_SEED:-$RANDOM}
need_package jellyfish jellyfish
find_reads
echo "chaos seed $seed; reads: ${reads[*]##*/}"
while read -r k strands ranks chaos; do
  check_case "$k" "$strands" "$ranks" "$chaos"
done <<< "$cases"
finish
