/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import java.nio.charset.StandardCharsets;

/**
 * A key with its value, as it travels.
 *
 * @param key the key
 * @param version of the value: larger than that of every earlier one of its owner
 * @param value the value; not copied
 */
record Entry(String key, long version, byte[] value) {
  private static final int KEY_AT = Long.BYTES + Integer.BYTES;

  /** Reads what {@link #payload()} wrote. Every byte of it may be anything. */
  static Entry of(MessageView message) {
    int length = message.getInt(Long.BYTES);
    if (length < 0 || length > message.size() - KEY_AT) { // it must not decide what is allocated
      throw new IllegalArgumentException(
          "a key of " + length + " bytes in a message of " + message.size());
    }
    byte[] key = new byte[length];
    message.getBytes(KEY_AT, key, 0, key.length);
    byte[] value = new byte[message.size() - KEY_AT - key.length];
    message.getBytes(KEY_AT + key.length, value, 0, value.length);
    return new Entry(new String(key, StandardCharsets.UTF_8), message.getLong(0), value);
  }

  Payload payload() {
    byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
    return new Payload() {
      @Override
      public int size() {
        return KEY_AT + bytes.length + value.length;
      }

      @Override
      public void writeTo(PayloadWriter out) {
        out.putLong(version).putInt(bytes.length).putBytes(bytes).putBytes(value);
      }
    };
  }
}
