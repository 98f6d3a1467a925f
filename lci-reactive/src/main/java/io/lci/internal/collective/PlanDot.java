/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.lane.CallData;
import java.util.List;

/** A plan in the language of Graphviz. */
final class PlanDot {
  private PlanDot() {}

  static String of(String title, List<List<CallData>> sets) {
    StringBuilder text = new StringBuilder("digraph plan {\n");
    text.append("  label=\"").append(title.replace("\"", "\\\"")).append("\";\n");
    text.append("  node [shape=box];\n");
    int depth = sets.size();
    for (int set = 0; set < depth; set++) {
      List<CallData> calls = sets.get(set);
      text.append("  subgraph cluster_").append(set).append(" {\n");
      text.append("    label=\"runs ").append(set);
      text.append(", ").append(set + depth).append(", ...\";\n");
      for (int call = 0; call < calls.size(); call++) {
        String label = calls.get(call).description();
        text.append("    ").append(node(set, call));
        text.append(" [label=\"").append(label).append("\"];\n");
      }
      text.append("  }\n");
    }
    order(text, sets);
    return text.append("}\n").toString();
  }

  /** Solid: posted in this order. Dashed: begins when that has ended. */
  private static void order(StringBuilder text, List<List<CallData>> sets) {
    int depth = sets.size();
    for (int set = 0; set < depth; set++) {
      int last = sets.get(set).size() - 1;
      for (int call = 0; call < last; call++) {
        edge(text, node(set, call), node(set, call + 1), "");
      }
      if (set + 1 < depth) {
        edge(text, node(set, last), node(set + 1, 0), "");
      }
      edge(text, node(set, last), node(set, 0), " [style=dashed]");
    }
  }

  private static void edge(StringBuilder text, String from, String to, String how) {
    text.append("  ").append(from).append(" -> ").append(to).append(how).append(";\n");
  }

  private static String node(int set, int call) {
    return "r" + set + "_" + call;
  }
}
