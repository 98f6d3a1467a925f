#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Tests of the check of the language, tests/language/language.sh. Usage: language_test.sh HOME
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
home=$(realpath "${1:?usage: language_test.sh HOME}")
readonly home

# check NAME: the text on standard input as a file of that name; sets code and out.
check() {
  cat > "$dir/$1"
  code=0
  out=$("$home/tests/language/language.sh" --files "$dir/$1" 2>&1) || code=$?
}

passes() {
  check "$1"
  equal "$code" 0 "$out"
}

# refused NAME LINE: one sentence, which begins at that line.
refused() {
  check "$1"
  equal "$code" 1 "$out"
  contains "$out" "$dir/$1:$2: "
  contains "$out" "1 sentences to write anew"
}

test_a_plain_sentence_passes() {
  passes page.md << 'END'
# A port

Open the inbox of a port to receive. The user who owns it says what it carries, and of which size.
END
}

test_a_sentence_that_begins_with_who_is_found() {
  refused page.md 3 << 'END'
# A port

A port has a number. Who opens its inbox
receives.
END
}

test_cells_headings_and_items_begin_sentences() {
  refused page.md 3 << 'END'
| Word | Meaning |
|---|---|
| port | What a message goes to |
END
  refused page.md 1 <<< '## What it costs'
  refused page.md 2 << 'END'
There are two:
- of one the other is made. Of the other nothing is.
END
}

test_questions_and_code_are_no_matter() {
  passes page.md << 'END'
## What does it cost?

Who asks? The call `Who.of(lease)` does. The rest is code:

```java
// Who reads this has leased it
```
END
  passes Code.java << 'END'
/** The answer to {@code who} or {@link #lease(int) lease}: a rank. */
class Code { String who = "Who was it. Of course."; }
END
}

test_who_stands_after_a_person() {
  refused page.md 1 <<< 'It waits for a rank who is gone.'
  refused page.md 1 <<< 'The end is told to who waits for it.'
  refused page.md 1 <<< 'A subscriber gets it when he asks.'
  passes page.md <<< 'The programmer who wrote it, and users who read it, are told.'
}

test_one_idea_has_one_word() {
  refused page.md 1 <<< 'A message that is lent comes back.'
  refused page.md 1 <<< 'The parked operations of a rank go on.'
  passes page.md <<< 'A retained message comes back, also while its loop is parked.'
}

test_comments_of_c_and_java_are_read() {
  refused api.h 2 << 'END'
/* SPDX-License-Identifier: Apache-2.0 */
/** Frees it. Of who is gone
 * nobody hears. */
int lci_free(void);
END
  refused api.h 1 <<< 'int lci_free(void); /**< What is left. */'
  refused Code.java 4 << 'END'
/**
 * Takes a message.
 *
 * @param rank who sent it, and to who
 * @return the message
 */
END
  passes Code.java << 'END'
/**
 * Takes a message.
 *
 * @param of the rank of the sender
 */
END
}

test_numbers_of_the_specification_are_for_sources() {
  refused api.h 1 <<< '/** The receiver granted nothing. It is slow [2B-45]. */'
  refused Code.java 1 <<< '/** Closes the port. [X13, SS-4] */'
  passes api.h <<< '/** Reads payload[32] and entry [i]. */'
}

# Every pattern is one that grep understands, and has words above it.
test_patterns_are_explained() {
  local line before=
  while IFS= read -r line; do
    if [[ -n $line && $line != '#'* ]]; then
      grep -qE -- "$line" <<< '' || (($? == 1)) || fail "not a pattern: $line"
      [[ $before == explained ]] || fail "no words above: $line"
    fi
    case $line in '') before= ;; '#'*) before=explained ;; esac
  done < "$home/tests/language/patterns"
}

run_tests
