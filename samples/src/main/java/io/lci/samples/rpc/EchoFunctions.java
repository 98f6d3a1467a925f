/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.am.MessageView;
import java.nio.ByteBuffer;
import java.util.List;

/** What the ranks of the sample call, with the check of what comes back. Arguments are longs. */
enum EchoFunctions implements RpcFunction {
  /** Returns its arguments. */
  ECHO {
    @Override
    public int resultBytes(MessageView arguments) {
      return arguments.size();
    }

    @Override
    public void call(MessageView arguments, ByteBuffer result) {
      arguments.copyTo(result);
    }

    @Override
    boolean isRight(MessageView answer, long first, int count) {
      boolean right = answer.size() == count * Long.BYTES;
      for (int i = 0; right && i < count; i++) {
        right = answer.getLong(i * Long.BYTES) == argument(first, i);
      }
      return right;
    }
  },

  /** Returns the sum of its arguments. */
  SUM {
    @Override
    public int resultBytes(MessageView arguments) {
      return Long.BYTES;
    }

    @Override
    public void call(MessageView arguments, ByteBuffer result) {
      long sum = 0;
      for (int i = 0; i < arguments.size(); i += Long.BYTES) {
        sum += arguments.getLong(i);
      }
      result.putLong(sum);
    }

    @Override
    boolean isRight(MessageView answer, long first, int count) {
      long sum = 0;
      for (int i = 0; i < count; i++) {
        sum += argument(first, i);
      }
      return answer.size() == Long.BYTES && answer.getLong(0) == sum;
    }
  };

  /** In the order in which they are numbered, the same on every rank. */
  static final List<RpcFunction> ALL = List.of(values());

  /** Writes {@code count} arguments that {@code first} determines. */
  static void write(ByteBuffer arguments, long first, int count) {
    for (int i = 0; i < count; i++) {
      arguments.putLong(argument(first, i));
    }
  }

  private static long argument(long first, int place) {
    return Long.rotateLeft(first, place) + place;
  }

  /** Whether this is the answer to the arguments that {@link #write} wrote. */
  abstract boolean isRight(MessageView answer, long first, int count);
}
