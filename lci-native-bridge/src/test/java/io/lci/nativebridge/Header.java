/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** {@code lci.h}, read as text: its constants, structures and functions. */
final class Header {

  private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/", Pattern.DOTALL);
  private static final Pattern ENUM =
      Pattern.compile("\\benum\\b\\s*(\\w*)\\s*\\{(.*?)}", Pattern.DOTALL);
  private static final Pattern DEFINE =
      Pattern.compile("(?m)^#define (LCI_\\w+) (0x[0-9A-Fa-f]+|\\d+)u?l{0,2}\\s*$");
  private static final Pattern UNION =
      Pattern.compile("union\\s*\\{.*}\\s*(\\w+)\\s*;", Pattern.DOTALL);
  private static final Pattern FIELD =
      Pattern.compile("([\\w ]+?\\*?)\\s*\\b(\\w+)(?:\\[(\\w+)])?\\s*;");
  private static final Pattern FUNCTION =
      Pattern.compile("LCI_API\\s+([^(;]*?)\\b(lci_\\w+)\\s*\\(([^)]*)\\)\\s*;", Pattern.DOTALL);

  /** A field of a structure: where it begins and its size in bytes. */
  record Field(int offset, int size) {}

  /** A function by the Java types of its result and parameters. */
  record Function(String result, List<String> parameters) {}

  private final String text;

  private Header(String text) {
    this.text = text;
  }

  static Header read() throws IOException {
    Path file = Path.of(System.getProperty("lci.native.source"), "include", "lci", "lci.h");
    return new Header(COMMENT.matcher(Files.readString(file)).replaceAll(" "));
  }

  /** Every enum constant but the layout's identifiers, and every numeric define. */
  Map<String, Long> constants() {
    Map<String, Long> constants = new LinkedHashMap<>();
    Matcher enums = ENUM.matcher(text);
    while (enums.find()) {
      if (!enums.group(1).equals("lci_layout_id")) {
        long next = 0;
        for (String item : items(enums.group(2))) {
          String[] parts = item.split("\\s*=\\s*");
          long value = parts.length > 1 ? Long.decode(parts[1]) : next;
          constants.put(parts[0], value);
          next = value + 1;
        }
      }
    }
    Matcher defines = DEFINE.matcher(text);
    while (defines.find()) {
      String digits = defines.group(2);
      long value =
          digits.startsWith("0x")
              ? Long.parseUnsignedLong(digits.substring(2), 16)
              : Long.parseLong(digits);
      constants.put(defines.group(1), value);
    }
    return constants;
  }

  /** Names of the layout's identifiers in their order. */
  List<String> layoutIds() {
    Matcher enums = ENUM.matcher(text);
    while (enums.find()) {
      if (enums.group(1).equals("lci_layout_id")) {
        return items(enums.group(2)).stream().map(item -> item.split("\\s*=")[0]).toList();
      }
    }
    throw new IllegalStateException("no lci_layout_id in the header");
  }

  private static List<String> items(String body) {
    return Stream.of(body.split(",")).map(String::strip).filter(item -> !item.isEmpty()).toList();
  }

  /**
   * Fields of a structure with the offsets that C gives them; a trailing union counts as 32 bytes.
   */
  Map<String, Field> structure(String name) {
    Matcher structure =
        Pattern.compile("struct " + name + " \\{(.*?)}\\s*" + name + ";", Pattern.DOTALL)
            .matcher(text);
    if (!structure.find()) {
      throw new IllegalStateException("no struct " + name + " in the header");
    }
    return fields(UNION.matcher(structure.group(1)).replaceAll("uint64_t $1[4];"));
  }

  /** Fields of a structure without a name, which is a member of the union of another. */
  Map<String, Field> member(String name, String member) {
    Matcher inner =
        Pattern.compile(
                "struct " + name + " \\{.*?struct \\{([^{}]*)}\\s*" + member + ";", Pattern.DOTALL)
            .matcher(text);
    if (!inner.find()) {
      throw new IllegalStateException("no " + member + " in struct " + name);
    }
    return fields(inner.group(1));
  }

  private Map<String, Field> fields(String plain) {
    Map<String, Field> fields = new LinkedHashMap<>();
    int offset = 0;
    int alignment = 1;
    Matcher field = FIELD.matcher(plain);
    while (field.find()) {
      int unit = sizeOf(field.group(1).strip());
      int count = field.group(3) == null ? 1 : count(field.group(3));
      offset = roundUp(offset, unit);
      fields.put(field.group(2), new Field(offset, unit * count));
      offset += unit * count;
      alignment = Math.max(alignment, unit);
    }
    fields.put("", new Field(0, roundUp(offset, alignment)));
    return fields;
  }

  /** How many elements an array has: a number, or the name of a constant. */
  private int count(String elements) {
    Long named = constants().get(elements);
    return named == null ? Integer.parseInt(elements) : named.intValue();
  }

  private static int roundUp(int value, int unit) {
    return (value + unit - 1) / unit * unit;
  }

  private static int sizeOf(String type) {
    if (type.endsWith("*")) {
      return 8;
    }
    return switch (type) {
      case "uint8_t" -> 1;
      case "uint16_t" -> 2;
      case "int32_t", "uint32_t" -> 4;
      case "uint64_t" -> 8;
      default -> throw new IllegalStateException("unknown type in a structure: " + type);
    };
  }

  /** Every exported function. */
  Map<String, Function> functions() {
    Map<String, Function> functions = new LinkedHashMap<>();
    Matcher function = FUNCTION.matcher(text);
    while (function.find()) {
      List<String> parameters = new ArrayList<>();
      for (String parameter : items(function.group(3))) {
        if (!parameter.equals("void")) {
          parameters.add(javaType(parameter));
        }
      }
      functions.put(
          function.group(2), new Function(javaType(function.group(1).strip()), parameters));
    }
    return functions;
  }

  private static String javaType(String declaration) {
    if (declaration.contains("*") || declaration.contains("_fn ")) {
      return "long";
    }
    if (declaration.matches("(?s).*\\b(uint64_t|size_t|lci_node)\\b.*")) {
      return "long";
    }
    if (declaration.contains("int32_t") || declaration.matches("int\\b.*")) {
      return "int";
    }
    if (declaration.equals("void")) {
      return "void";
    }
    throw new IllegalStateException("unknown type in a function: " + declaration);
  }
}
