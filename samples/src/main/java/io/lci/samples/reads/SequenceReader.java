/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.reads;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * Reads one reader's share of sequence files and hands over the bases. FASTA with any line length,
 * FASTQ with four lines per record, either plain or compressed by gzip, upper or lower case, line
 * ends of Unix or DOS. Anything but A, C, G and T ends a fragment. Not thread-safe: one per thread.
 */
public final class SequenceReader {
  /** Longest fragment handed over, in bases. */
  public static final int MAX_FRAGMENT = 2048;

  private static final byte OTHER_LETTER = 4;
  private static final byte LINE_END = 5;
  private static final byte CARRIAGE_RETURN = 6;
  private static final byte INVALID = 7;
  private static final byte[] CODES = codes();

  private final int overlap;
  private final int reader;
  private final int readers;
  private final LongConsumer progress;
  private final FragmentSink sink;

  private final byte[] fragment = new byte[MAX_FRAGMENT];
  private int length;
  private int letters;

  /**
   * Creates a reader.
   *
   * @param k length of the k-mers that will be cut from the fragments, 1 to {@link #MAX_FRAGMENT} /
   *     2
   * @param reader which of the readers that share the work this is, from 0
   * @param readers how many share the work
   * @param progress told, again and again, how many more bytes of a file were read
   * @param sink takes the fragments, on the calling thread
   */
  public SequenceReader(int k, int reader, int readers, LongConsumer progress, FragmentSink sink) {
    if (k < 1 || k > MAX_FRAGMENT / 2 || reader < 0 || reader >= readers) {
      throw new IllegalArgumentException("k " + k + ", reader " + reader + " of " + readers);
    }
    this.overlap = k - 1;
    this.reader = reader;
    this.readers = readers;
    this.progress = progress;
    this.sink = sink;
  }

  /**
   * Checks that a file exists, is not empty, and starts as FASTA or FASTQ does.
   *
   * @throws BadInputException if not
   */
  public static void check(Path file) {
    try (ByteSource source = ByteSource.open(file, n -> {})) {
      isFastq(source);
    }
  }

  /**
   * Whether a file is compressed by gzip.
   *
   * @throws BadInputException if it cannot be read
   */
  public static boolean isCompressed(Path file) {
    try (ByteSource source = ByteSource.open(file, n -> {})) {
      return source.isCompressed();
    }
  }

  /**
   * Reads our share of a file.
   *
   * @throws BadInputException if the file is missing, damaged or of another format
   */
  public void read(Path file) {
    length = 0;
    try (ByteSource source = ByteSource.open(file, progress)) {
      Share share = source.share(reader, readers);
      if (isFastq(source)) {
        readFastq(source, share);
      } else {
        readFasta(source, share);
      }
    }
  }

  private static boolean isFastq(ByteSource source) {
    if (!source.more()) {
      throw new BadInputException(source.file, "is empty");
    }
    return switch (source.peek()) {
      case '@' -> true;
      case '>' -> false;
      default ->
          throw new BadInputException(
              source.file, "is neither FASTA nor FASTQ: it starts with neither '>' nor '@'", 0);
    };
  }

  private void readFastq(ByteSource source, Share share) {
    if (share.first() > 0 && !goToFirstRecord(source, share.first())) {
      return;
    }
    while (source.more()) {
      long start = source.at();
      if (share.isPast(start)) {
        return;
      }
      if (source.peek() != '@') {
        requireBlankToTheEnd(source);
        return;
      }
      readRecord(source, share.owns(start));
    }
  }

  private void readRecord(ByteSource source, boolean ours) {
    long start = source.at();
    boolean whole = source.skipLine(Long.MAX_VALUE);
    int bases = ours ? takeLine(source) : passLine(source);
    whole &= source.more() && source.peek() == '+';
    if (!whole) {
      throw new BadInputException(
          source.file, "FASTQ record is not name, bases, '+', qualities", start);
    }
    whole = source.skipLine(Long.MAX_VALUE) && source.skip(bases);
    if (!whole) {
      throw new BadInputException(source.file, "ends inside a FASTQ record", start);
    }
    if (source.more() && !isLineEnd(source.peek())) {
      throw new BadInputException(source.file, "FASTQ record has more qualities than bases", start);
    }
    source.skipLine(Long.MAX_VALUE);
  }

  /** Takes the bases up to the end of the line; answers how many letters there were. */
  private int takeLine(ByteSource source) {
    int total = 0;
    boolean ended = false;
    while (!ended && source.more()) {
      ended = scan(source, source.limit - source.position);
      total = Math.addExact(total, letters);
    }
    endFragment();
    return total;
  }

  private static int passLine(ByteSource source) {
    long start = source.at();
    boolean returned = false;
    while (source.more()) {
      while (source.position < source.limit) {
        byte b = source.buffer[source.position++];
        if (b == '\n') {
          return Math.toIntExact(source.at() - start - (returned ? 2 : 1));
        }
        returned = b == '\r';
      }
    }
    return Math.toIntExact(source.at() - start);
  }

  private static boolean isLineEnd(byte b) {
    return b == '\n' || b == '\r';
  }

  private static void requireBlankToTheEnd(ByteSource source) {
    while (source.more()) {
      if (!isLineEnd(source.peek())) {
        throw new BadInputException(
            source.file, "FASTQ record does not start with '@'", source.at());
      }
      source.position++;
    }
  }

  /**
   * Goes to the first record that starts at {@code from} or later. A line of qualities may begin
   * with '@' too, but only a name is followed, two lines on, by a line that begins with '+': two
   * lines after qualities come bases.
   */
  private static boolean goToFirstRecord(ByteSource source, long from) {
    source.seek(from - 1);
    long beforeLast = -1;
    long last = -1;
    while (source.skipLine(Long.MAX_VALUE) && source.more()) {
      if (source.peek() == '+' && beforeLast >= 0) {
        source.seek(beforeLast);
        return true;
      }
      beforeLast = last;
      last = source.peek() == '@' ? source.at() : -1;
    }
    return false;
  }

  private void readFasta(ByteSource source, Share share) {
    boolean atLineStart = share.first() == 0 || goIntoSequence(source, share.first());
    int tail = 0;
    while (source.more()) {
      if (atLineStart && source.peek() == '>') {
        endFragment();
        source.skipLine(Long.MAX_VALUE);
        continue;
      }
      long at = source.at();
      if (share.owns(at)) {
        atLineStart = scan(source, share.stripeEnd(at) - at);
        tail = overlap;
      } else if (length > 0 && tail > 0) {
        // The k-mers that begin with our last bases end in the next stripe.
        atLineStart = scan(source, tail);
        tail -= letters;
      } else {
        endFragment();
        if (share.isPast(at)) {
          return;
        }
        atLineStart = source.skipLine(share.stripeEnd(at));
      }
    }
    endFragment();
  }

  /** Goes to {@code from}, or past the name line around it; true if that is where a line starts. */
  private static boolean goIntoSequence(ByteSource source, long from) {
    long lineStart = lineStartBefore(source, from);
    source.seek(lineStart);
    boolean name = source.more() && source.peek() == '>';
    source.seek(from);
    return lineStart == from || (name && source.skipLine(Long.MAX_VALUE));
  }

  private static long lineStartBefore(ByteSource source, long from) {
    long end = from;
    while (end > 0) {
      long start = Math.max(0, end - source.buffer.length);
      source.seek(start);
      source.more();
      for (int i = (int) Math.min(end - start, source.limit) - 1; i >= 0; i--) {
        if (source.buffer[i] == '\n') {
          return start + i + 1;
        }
      }
      end = start;
    }
    return 0;
  }

  /**
   * Takes bases from the window, at most {@code most} bytes; true if that reached the end of the
   * line. Leaves the number of letters in {@link #letters}.
   */
  private boolean scan(ByteSource source, long most) {
    letters = 0;
    byte[] buffer = source.buffer;
    int start = source.position;
    int stop = start + (int) Math.min(most, source.limit - start);
    int position = start;
    int others = 0;
    while (position < stop) {
      byte code = CODES[buffer[position++] & 0xff];
      if (code < OTHER_LETTER) {
        if (length == MAX_FRAGMENT) {
          cutFragment();
        }
        fragment[length++] = code;
      } else if (code == OTHER_LETTER) {
        endFragment();
      } else if (code == CARRIAGE_RETURN) {
        others++;
      } else {
        source.position = position;
        if (code == INVALID) {
          throw new BadInputException(source.file, "has bytes that are no bases", source.at() - 1);
        }
        letters = position - start - others - 1;
        return true;
      }
    }
    source.position = position;
    letters = position - start - others;
    return false;
  }

  private void endFragment() {
    if (length > overlap) {
      sink.fragment(fragment, length);
    }
    length = 0;
  }

  private void cutFragment() {
    sink.fragment(fragment, length);
    System.arraycopy(fragment, length - overlap, fragment, 0, overlap);
    length = overlap;
  }

  private static byte[] codes() {
    byte[] codes = new byte[256];
    Arrays.fill(codes, INVALID);
    for (char c = 'a'; c <= 'z'; c++) {
      codes[c] = OTHER_LETTER;
      codes[Character.toUpperCase(c)] = OTHER_LETTER;
    }
    for (char c : "*-.".toCharArray()) {
      codes[c] = OTHER_LETTER;
    }
    String bases = "ACGT";
    for (byte i = 0; i < bases.length(); i++) {
      codes[bases.charAt(i)] = i;
      codes[Character.toLowerCase(bases.charAt(i))] = i;
    }
    codes['\n'] = LINE_END;
    codes['\r'] = CARRIAGE_RETURN;
    return codes;
  }
}
