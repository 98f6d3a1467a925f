# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Reads of DNA for the demo and for tests.

# demo_reads: sets reads to files of reads: those of the lambda phage that come with Bowtie 2 (Debian's bowtie2-examples; its
# manual says that a program made them), else simulated ones.
demo_reads() {
  mkdir -p "$state/cache" "$state/logs"
  local installed=/usr/share/doc/bowtie2/examples/reads unpacked=$state/cache/bowtie2-examples
  local folder
  for folder in "$installed" "$unpacked$installed"; do
    if [[ -f $folder/reads_1.fq.gz && -f $folder/reads_2.fq.gz ]]; then
      reads=("$folder/reads_1.fq.gz" "$folder/reads_2.fq.gz")
      return
    fi
  done
  if fetch_reads "$unpacked"; then
    reads=("$unpacked$installed/reads_1.fq.gz" "$unpacked$installed/reads_2.fq.gz")
    return
  fi
  local simulated=$state/cache/simulated.fq
  say "lci: Debian's bowtie2-examples cannot be had; simulating 20,000 reads from samples/data/lambda_virus.fa.gz, seed 1"
  cmd_run_quietly simulate-reads --reads 20000 --length 150 --seed 1 "$home/samples/data/lambda_virus.fa.gz" > "$simulated.part"
  mv "$simulated.part" "$simulated"
  reads=("$simulated")
}

fetch_reads() {
  say "lci: fetching the reads of the lambda phage that come with Bowtie 2: Debian's package bowtie2-examples"
  fetch_package bowtie2-examples "$1"
}
