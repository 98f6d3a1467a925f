# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci demo.

readonly DEMO_K=31
readonly DEMO_RANKS=2

usage_demo() {
  cat << 'EOF'
Usage: ./lci demo

Builds if that is needed (as ./lci build does, so the modules are installed), counts the 31-mers of reads of the lambda phage in two ranks, and shows the histogram.
The reads come with Bowtie 2 (Debian's package bowtie2-examples, fetched if it is not installed); where that cannot be
had, reads are simulated from samples/data/lambda_virus.fa.gz. What it writes lies in .lci/demo and .lci/cache.
EOF
}

# show_histogram FILE: its beginning, and what is around its peak: the most frequent count after the valley that the errors
# in the reads leave.
show_histogram() {
  awk -v head=4 -v around=5 '
    { count[NR] = $1; distinct[NR] = $2 }
    END {
      valley = 1
      while (valley < NR && distinct[valley + 1] <= distinct[valley]) valley++
      for (i = peak = valley; i <= NR; i++) if (distinct[i] > distinct[peak]) peak = i
      for (i = 1; i <= NR; i++) {
        if (i > head && (i < peak - around || i > peak + around)) { left_out = 1; continue }
        if (left_out) print "  ..."
        left_out = 0
        printf "%5d  %d%s\n", count[i], distinct[i], (i == peak && peak > valley) ? "  <- peak" : ""
      }
      if (left_out) print "  ..."
    }' "$1"
}

cmd_demo() {
  build
  mkdir -p "$state/demo"
  local reads=() histogram=$state/demo/histogram.txt
  demo_reads
  say "lci: counting the $DEMO_K-mers of $(printf '%s ' "${reads[@]##*/}")in $DEMO_RANKS ranks, each a JVM"
  say "lci: the reads go to partitions of their k-mers, then these are counted; the line has both times"
  rm -f "$histogram"
  (cmd_run -n "$DEMO_RANKS" kmer -k "$DEMO_K" --canonical --histogram "$histogram" "${reads[@]}")
  [[ -s $histogram ]] || die "there is no histogram in $histogram"
  echo "count  distinct $DEMO_K-mers that occur so many times"
  show_histogram "$histogram"
  say "lci: most k-mers of the genome are in about as many reads as the peak says; those in one or two are errors in the reads"
  say "lci: it worked; all lines are in .lci/demo/histogram.txt. Next: ./lci run -n 2 readme-example, ./lci run --help"
}
