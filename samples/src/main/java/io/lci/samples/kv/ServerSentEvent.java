/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/** Text of server-sent events: a line each for name, id and data, and an empty one. */
final class ServerSentEvent {
  private ServerSentEvent() {}

  /** The key as id, the value as data, read as UTF-8. Line breaks in the key become blanks. */
  static String of(Entry entry) {
    String value = new String(entry.value(), StandardCharsets.UTF_8);
    return "id: " + entry.key().replaceAll("[\\r\\n\\x00]", " ") + "\n" + data(value) + "\n";
  }

  /** The last event of a scan that could not go on. */
  static String failure(String reason) {
    return "event: error\n" + data(reason) + "\n";
  }

  private static String data(String text) {
    return text.lines().collect(Collectors.joining("\ndata: ", "data: ", "\n"));
  }
}
