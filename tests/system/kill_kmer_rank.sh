#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A rank of kill_kmer_test.sh: the k-mer job with the given arguments; process number and exit code come in files.
classpath=$(dirname "$0")/../../samples/target
# shellcheck disable=SC2086  # options are words
"${JAVA_HOME:+$JAVA_HOME/bin/}java" $LCI_JAVA_OPTS -cp "$classpath/samples.jar:$classpath/lib/*" \
  io.lci.samples.kmer.KmerCount "$@" 2> "$RANKS_FOLDER/err.$LCI_RANK" < /dev/null &
echo $! > "$RANKS_FOLDER/pid.$LCI_RANK.part" && mv "$RANKS_FOLDER/pid.$LCI_RANK.part" "$RANKS_FOLDER/pid.$LCI_RANK"
wait $!
code=$?
echo $code > "$RANKS_FOLDER/exit.$LCI_RANK"
exit $code
