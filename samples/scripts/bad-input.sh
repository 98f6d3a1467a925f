#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is wrong with the input or the surroundings is said in one clear line, the exit code is not 0, and no result file
# is left. Usage: bad-input.sh
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly results=$folder/results
mkdir "$results"

# Lines on standard error that a rank wrote, without those of the launcher and the tool about the job's end.
said() { sed 's/^\[[0-9]*\] //' "$folder/err" | grep -v -e '^lci-run: ' -e '^lci: '; }

# refused NAME CODE TEXT COMMAND...: the command must end with CODE, say one line with TEXT, and leave nothing.
refused() {
  local name=$1 code=$2 text=$3 got lines
  shift 3
  "$@" > "$folder/out" 2> "$folder/err"
  got=$?
  lines=$(said | grep -c .)
  if [[ $got != "$code" ]]; then
    fail "$name: exit code $got, expected $code"
  elif ((lines != 1)); then
    fail "$name: $lines lines, expected one"
  elif ! said | grep -qiE -- "$text"; then
    fail "$name: no '$text'"
  elif [[ -n $(ls -A "$results") || -s $folder/out ]]; then
    fail "$name: left a result"
  else
    pass "$name: $(said)"
    return
  fi
  head -n 8 "$folder/err"
  rm -rf "${results:?}"/.[!.]* "${results:?}"/*
}

job() {
  local ranks=$1
  shift
  kmer "$ranks" --histogram "$results/histogram" --dump "$results/dump" "$@"
}

with_java_options() {
  local options=$1
  shift
  LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} $options" job "$@"
}

# A folder on a file system from which nothing may be executed, if there is one or we may mount one.
noexec_folder() {
  local mount=$folder/noexec
  if mkdir -p "$mount" && mount -t tmpfs -o noexec,size=64m none "$mount" 2> /dev/null; then
    trap 'umount "$folder/noexec"; rm -rf "$folder"' EXIT
    echo "$mount"
  fi
}

simulate --random-genome 50000 --reads 5000 -o "$folder/good.fq" || die "cannot simulate reads"
gzip -k "$folder/good.fq"
head -c 100000 "$folder/good.fq.gz" > "$folder/cut.fq.gz"
head -c 600001 "$folder/good.fq" > "$folder/cut.fq"
: > "$folder/empty.fq"
gzip -c "$folder/empty.fq" > "$folder/empty.fq.gz"
printf 'Call me Ishmael.\n' > "$folder/text.fa"

for ranks in 1 2; do
  refused "missing file, $ranks ranks" 1 'none.fq: no such file' job $ranks "$folder/good.fq" "$folder/none.fq"
  refused "directory, $ranks ranks" 1 'is a directory' job $ranks "$folder"
  refused "empty file, $ranks ranks" 1 'empty.fq: is empty' job $ranks "$folder/empty.fq"
  refused "truncated gz, $ranks ranks" 1 'cut.fq.gz: compressed data ends too early' job $ranks "$folder/cut.fq.gz"
  refused "text, $ranks ranks" 1 'text.fa: is neither FASTA nor FASTQ' job $ranks "$folder/text.fa"
done
refused "empty gz" 1 'is empty' job 2 "$folder/empty.fq.gz"
refused "truncated record" 1 'cut.fq: .*FASTQ record' job 2 "$folder/cut.fq"
refused "k of 64" 2 '1 to 63' job 2 -k 64 "$folder/good.fq"
refused "k of 0" 2 '1 to 63' job 2 -k 0 "$folder/good.fq"
refused "k that is no number" 2 "'-k'" job 2 -k many "$folder/good.fq"
refused "unknown option" 2 'unknown option' job 2 --kmers 3 "$folder/good.fq"
refused "no file" 2 'missing' job 2
refused "result in no directory" 2 'no directory' kmer 2 --histogram "$folder/none/histogram" "$folder/good.fq"
refused "unknown lci.* key" 1 'lci.loop' with_java_options -Dlci.loop=2 1 "$folder/good.fq"
refused "jna.protected" 1 'jna.protected' with_java_options -Djna.protected=true 1 "$folder/good.fq"
refused "more ranks than memory allows" 1 'memory' env LCI_ATTR_ARENA_BYTES=1152921504606846976 \
  timeout --kill-after=10 "$DEADLINE_S" "$lci" run -n 2 --dir "$folder/jobs" kmer "$folder/good.fq"
noexec=$(noexec_folder)
if [[ -n $noexec ]]; then
  refused "noexec temp directory" 1 'noexec' with_java_options "-Djava.io.tmpdir=$noexec -Djna.tmpdir=$noexec" 1 "$folder/good.fq"
else
  echo "skipped noexec temp directory: cannot mount one here"
fi

# And what is right still works, so that none of the above passed because nothing works.
if job 2 -k 21 "$folder/good.fq" 2> "$folder/err" && [[ -s $results/histogram && -s $results/dump ]]; then
  pass "good input"
else
  fail "good input"
  tail -n 5 "$folder/err"
fi
finish
