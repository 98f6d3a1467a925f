# SPDX-License-Identifier: Apache-2.0
# Judges pairs of measurements, new over old. Input, tab-separated, one pair a line:
#   row  unit  old  new  line-before  line-after       the cache-line round trips in ns around the pair
# Output, tab-separated, a line for each row, in the order of their first pairs:
#   row  pairs  old  new  ratio  below  near  far  verdict
# A ratio above 1 says that new is better. `below` counts pairs under 1. A row is `slower` if the median ratio is under
# 0.95 and at least 9 of 11 pairs are under 1. Pairs are near (both round trips under 150 ns), far (both over 250), or
# between; those between are left out unless fewer than least remain (then the row is judged by all, and its pairs are
# marked with *). near and far are the medians of their classes, `-` for a class of fewer than 5 pairs: not seen.
#   awk -F '\t' -v least=11 -f verdict.awk
function median(list, n,    i, j, t) {
  if (n == 0) return 0
  for (i = 2; i <= n; i++) {
    t = list[i]
    for (j = i - 1; j >= 1 && list[j] > t; j--) list[j + 1] = list[j]
    list[j + 1] = t
  }
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function class_median(row, class,    i, n, list) {
  n = 0
  for (i = 1; i <= pairs[row]; i++) if (class_of[row, i] == class) list[++n] = ratio[row, i]
  return n < 5 ? "-" : sprintf("%.3f", median(list, n))
}
# Less is better for times, more for rates.
function ratio_of(unit, old, new) { return unit ~ /^(ns|us|ms|s)$/ ? old / new : new / old }
$3 + 0 <= 0 || $4 + 0 <= 0 || NF != 6 {
  print "verdict.awk: not a pair of measurements: " $0 > "/dev/stderr"
  broken = 1
  exit 2
}
{
  if (!($1 in pairs)) order[++rows] = $1
  i = ++pairs[$1]
  ratio[$1, i] = ratio_of($2, $3, $4)
  old[$1, i] = $3
  new[$1, i] = $4
  class_of[$1, i] = $5 < 150 && $6 < 150 ? "near" : $5 > 250 && $6 > 250 ? "far" : "between"
  if (class_of[$1, i] != "between") kept[$1]++
}
END {
  if (broken) exit 2
  for (r = 1; r <= rows; r++) {
    row = order[r]
    all = kept[row] < least
    n = below = 0
    delete list; delete olds; delete news
    for (i = 1; i <= pairs[row]; i++) {
      if (!all && class_of[row, i] == "between") continue
      list[++n] = ratio[row, i]
      olds[n] = old[row, i]
      news[n] = new[row, i]
      below += ratio[row, i] < 1
    }
    middle = median(list, n)
    slower = middle < 0.95 && below * 11 >= n * 9
    printf "%s\t%d%s\t%.4g\t%.4g\t%.3f\t%d\t%s\t%s\t%s\n", row, n, all && kept[row] < pairs[row] ? "*" : "", median(olds, n),
      median(news, n), middle, below, class_median(row, "near"), class_median(row, "far"), slower ? "slower" : "fine"
  }
}
