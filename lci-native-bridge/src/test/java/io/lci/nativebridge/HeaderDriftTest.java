/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.nativebridge.Header.Field;
import io.lci.nativebridge.Header.Function;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Nothing that Java repeats of {@code lci.h} may differ from it. */
class HeaderDriftTest {

  /** Defines that live in {@link Layout}, where the check at load needs them. */
  private static final Set<String> IN_LAYOUT = Set.of("LCI_ABI_VERSION", "LCI_INLINE_MAX");

  /** Functions that Java deliberately does not bind, by the reason. */
  private static final Set<String> NATIVE_ONLY =
      union(
          // Function pointers: the core never calls the JVM. Java handlers are records of a lane.
          Set.of("lci_handler_create", "lci_custom_create", "lci_custom_taken"),
          Set.of("lci_runtime_set_allocator", "lci_runtime_allocator"),
          // Meters say in Java what they count.
          Set.of("lci_counter_help"),
          // Thin forms of lci_post.
          Set.of("lci_post_am", "lci_post_send", "lci_post_recv", "lci_post_recv_long"),
          Set.of("lci_post_put", "lci_post_put_signal", "lci_post_get", "lci_post_get_signal"),
          Set.of("lci_post_atomic", "lci_post_barrier", "lci_post_cancel"),
          // Blocking forms: in Java Monos, and the blocking facade that drives a lane.
          Set.of("lci_queue_wait", "lci_queue_wait_many", "lci_synchronizer_wait"),
          Set.of("lci_test_drained", "lci_wait_drained", "lci_wait_fence"),
          // Devices that no lane owns.
          Set.of("lci_device_fence", "lci_device_fence_passed"),
          // Packets of devices that no lane owns, theirs and those of arrivals; pools for devices.
          Set.of("lci_packet_get", "lci_packet_put", "lci_comp_zero_copy", "lci_arrival_free"),
          Set.of("lci_pool_create", "lci_device_use_pool"),
          // Graphs whose nodes are C functions; Java uploads its graphs to a lane.
          Set.of("lci_graph_create", "lci_graph_free", "lci_graph_on_free", "lci_graph_comp"),
          Set.of("lci_graph_add_function", "lci_graph_add_op", "lci_graph_add_edge"),
          Set.of("lci_graph_start", "lci_graph_test", "lci_graph_cancel"),
          Set.of("lci_graph_set_per_run", "lci_graph_start_run"),
          Set.of("lci_graph_set_depth", "lci_graph_set_op", "lci_graph_run_number"),
          Set.of("lci_graph_test_run", "lci_graph_cancel_run"),
          Set.of("lci_graph_mark_complete", "lci_graph_node_get"),
          // What who made a group knows, and thin forms.
          Set.of("lci_group_info", "lci_group_rank"),
          Set.of("lci_post_group_barrier", "lci_post_collective", "lci_post_agree"),
          // One runtime for a whole process; Java programs hold theirs.
          Set.of("lci_global_init", "lci_global_fini", "lci_global_runtime", "lci_global_set"),
          Set.of("lci_global_rank", "lci_global_size"),
          // Matching without messages.
          Set.of("lci_matching_create", "lci_matching_insert"),
          Set.of("lci_matching_remove", "lci_matching_free"),
          // Attributes that Java set itself, or reads one by one from the runtime.
          Set.of("lci_attrs_get", "lci_runtime_attrs", "lci_device_attr", "lci_comp_attr"),
          Set.of("lci_port_attr", "lci_engine_attr"));

  private static Header header;

  @BeforeAll
  static void readHeader() throws IOException {
    header = Header.read();
  }

  @Test
  void constantsAreTheHeaders() throws IllegalAccessException {
    Map<String, Long> expected = new TreeMap<>(header.constants());
    expected.keySet().removeAll(IN_LAYOUT);
    Map<String, Long> actual = new TreeMap<>();
    for (var field : Codes.class.getFields()) {
      actual.put("LCI_" + field.getName(), ((Number) field.get(null)).longValue());
    }
    // In C the wildcard rank is unsigned, in Java it is the int of the same bits.
    actual.computeIfPresent("LCI_ANY_SOURCE", (name, value) -> value & 0xFFFF_FFFFL);

    assertThat(expected).hasSizeGreaterThan(60);
    assertThat(actual).isEqualTo(expected);
  }

  @Test
  void definesOfTheLayoutAreTheHeaders() {
    assertThat(header.constants())
        .containsEntry("LCI_ABI_VERSION", (long) Layout.ABI_VERSION)
        .containsEntry("LCI_INLINE_MAX", (long) Layout.INLINE_MAX);
  }

  @Test
  void layoutIdentifiersAreTheHeadersInTheirOrder() {
    String[] expected = new String[LayoutId.values().length + 1];
    for (LayoutId id : LayoutId.values()) {
      expected[id.index()] = "LCI_LAYOUT_" + id.name();
    }
    expected[LayoutId.values().length] = "LCI_LAYOUT_COUNT";
    assertThat(header.layoutIds()).containsExactly(expected);
  }

  @Test
  void descriptorsAreTheHeaders() {
    Map<String, Field> fields = header.structure("lci_descriptor");
    assertThat(fields).as("fields, and the whole").hasSize(12);
    assertThat(size(fields)).isEqualTo(Layout.DESCRIPTOR_SIZE);
    assertField(fields, "op", Layout.DESCRIPTOR_OP, 1);
    assertField(fields, "flags", Layout.DESCRIPTOR_FLAGS, 1);
    assertField(fields, "outcome", Layout.DESCRIPTOR_OUTCOME, 2);
    assertField(fields, "rank", Layout.DESCRIPTOR_RANK, 4);
    assertField(fields, "port", Layout.DESCRIPTOR_PORT, 2);
    assertField(fields, "device", Layout.DESCRIPTOR_DEVICE, 1);
    assertField(fields, "policy", Layout.DESCRIPTOR_POLICY, 1);
    assertField(fields, "size", Layout.DESCRIPTOR_SIZE_FIELD, 4);
    assertField(fields, "tag", Layout.DESCRIPTOR_TAG, 8);
    assertField(fields, "user_context", Layout.DESCRIPTOR_CONTEXT, 8);
    assertField(fields, "u", Layout.DESCRIPTOR_PAYLOAD, 32);
  }

  @Test
  void collectiveCallsAreTheHeaders() {
    Map<String, Field> fields = header.member("lci_descriptor", "collective");
    int start = Layout.DESCRIPTOR_PAYLOAD;
    assertField(fields, "in", Layout.DESCRIPTOR_COLLECTIVE_IN - start, 8);
    assertField(fields, "out", Layout.DESCRIPTOR_COLLECTIVE_OUT - start, 8);
    assertField(fields, "count", Layout.DESCRIPTOR_COLLECTIVE_COUNT - start, 8);
    assertField(fields, "counts", Layout.DESCRIPTOR_COLLECTIVE_COUNTS - start, 8);
    assertThat(fields).as("fields, and the whole").hasSize(5);
  }

  @Test
  void collectiveCallsOutsideDescriptorsAreTheHeaders() {
    Map<String, Field> fields = header.structure("lci_collective");
    assertThat(size(fields)).isEqualTo(Layout.COLLECTIVE_SIZE);
    assertField(fields, "kind", Layout.COLLECTIVE_KIND, 4);
    assertField(fields, "algorithm", Layout.COLLECTIVE_ALGORITHM, 4);
    assertField(fields, "type", Layout.COLLECTIVE_TYPE, 4);
    assertField(fields, "op", Layout.COLLECTIVE_OP, 4);
    assertField(fields, "root", Layout.COLLECTIVE_ROOT, 4);
    assertField(fields, "in", Layout.COLLECTIVE_IN, 8);
    assertField(fields, "out", Layout.COLLECTIVE_OUT, 8);
    assertField(fields, "count", Layout.COLLECTIVE_COUNT, 8);
    assertField(fields, "counts", Layout.COLLECTIVE_COUNTS, 8);
    assertThat(fields).as("fields, one that is 0, and the whole").hasSize(11);
  }

  @Test
  void recordsAreTheHeaders() {
    Map<String, Field> fields = header.structure("lci_record");
    assertThat(fields).as("fields, and the whole").hasSize(11);
    assertThat(size(fields)).isEqualTo(Layout.RECORD_SIZE);
    assertField(fields, "kind", Layout.RECORD_KIND, 1);
    assertField(fields, "flags", Layout.RECORD_FLAGS, 1);
    assertField(fields, "code", Layout.RECORD_CODE, 2);
    assertField(fields, "rank", Layout.RECORD_RANK, 4);
    assertField(fields, "port", Layout.RECORD_PORT, 2);
    assertField(fields, "index", Layout.RECORD_INDEX, 2);
    assertField(fields, "size", Layout.RECORD_SIZE_FIELD, 4);
    assertField(fields, "tag", Layout.RECORD_TAG, 8);
    assertField(fields, "context", Layout.RECORD_CONTEXT, 8);
    assertField(fields, "u", Layout.RECORD_PAYLOAD, 32);
  }

  @Test
  void controlBlocksAreTheHeaders() {
    Map<String, Field> fields = header.structure("lci_lane_control");
    assertField(fields, "flags", Layout.CONTROL_FLAGS, 4);
    assertField(fields, "submit_count", Layout.CONTROL_SUBMIT_COUNT, 4);
    assertField(fields, "cq_head", Layout.CONTROL_CQ_HEAD, 4);
    assertField(fields, "arrival_budget", Layout.CONTROL_ARRIVAL_BUDGET, 4);
    assertField(fields, "byte_budget", Layout.CONTROL_BYTE_BUDGET, 4);
    assertField(fields, "spin_ns", Layout.CONTROL_SPIN_NS, 8);
    assertField(fields, "cq_tail", Layout.CONTROL_CQ_TAIL, 4);
    assertField(fields, "must_enter", Layout.CONTROL_MUST_ENTER, 4);
    assertField(fields, "in_flight", Layout.CONTROL_IN_FLIGHT, 4);
    assertField(fields, "moved", Layout.CONTROL_MOVED, 4);
    assertField(fields, "next_deadline", Layout.CONTROL_NEXT_DEADLINE, 8);
    assertField(fields, "late_wakes", Layout.CONTROL_LATE_WAKES, 8);
    assertField(
        fields, "generation", Layout.CONTROL_GENERATION, 4 * Layout.CONTROL_GENERATION_COUNT);
    assertField(fields, "packet_count", Layout.CONTROL_PACKET_COUNT, 4);
    assertField(fields, "packets", Layout.CONTROL_PACKETS, 4 * Layout.CONTROL_PACKETS_COUNT);
    assertThat(fields).as("a field that Java does not know").hasSize(15 + 3 + 1);
  }

  @Test
  void demandEntriesAreTheHeaders() {
    Map<String, Field> fields = header.structure("lci_demand");
    assertThat(size(fields)).isEqualTo(Layout.DEMAND_SIZE);
    assertField(fields, "requested", Layout.DEMAND_REQUESTED, 8);
    assertField(fields, "delivered", Layout.DEMAND_DELIVERED, 8);
    assertField(fields, "port", Layout.DEMAND_PORT, 4);
    assertField(fields, "depth", Layout.DEMAND_DEPTH, 4);
    assertField(fields, "left_behind", Layout.DEMAND_LEFT_BEHIND, 4);
  }

  @Test
  void statusesAreTheHeaders() {
    Map<String, Field> fields = header.structure("lci_status");
    assertThat(size(fields)).isEqualTo(Layout.STATUS_SIZE);
    assertField(fields, "code", Layout.STATUS_CODE, 4);
    assertField(fields, "rank", Layout.STATUS_RANK, 4);
    assertField(fields, "tag", Layout.STATUS_TAG, 8);
    assertField(fields, "buffer", Layout.STATUS_BUFFER, 8);
    assertField(fields, "size", Layout.STATUS_SIZE_FIELD, 8);
    assertField(fields, "user_context", Layout.STATUS_CONTEXT, 8);
    assertField(fields, "port", Layout.STATUS_PORT, 4);
    assertField(fields, "packet", Layout.STATUS_PACKET, 4);
    assertThat(fields).as("fields, and the whole").hasSize(9);
  }

  @Test
  void tablesOfGraphsAndListsAreTheHeaders() {
    Map<String, Field> node = header.structure("lci_graph_node");
    assertThat(size(node)).isEqualTo(Layout.GRAPH_NODE_SIZE);
    assertField(node, "kind", Layout.GRAPH_NODE_KIND, 4);
    assertField(node, "op", Layout.GRAPH_NODE_OP, 4);
    Map<String, Field> edge = header.structure("lci_graph_edge");
    assertThat(size(edge)).isEqualTo(Layout.GRAPH_EDGE_SIZE);
    assertField(edge, "from", Layout.GRAPH_EDGE_FROM, 4);
    assertField(edge, "to", Layout.GRAPH_EDGE_TO, 4);
    Map<String, Field> part = header.structure("lci_buffer");
    assertThat(size(part)).isEqualTo(Layout.BUFFER_SIZE);
    assertField(part, "address", Layout.BUFFER_ADDRESS, 8);
    assertField(part, "size", Layout.BUFFER_SIZE_FIELD, 8);
    Map<String, Field> place = header.structure("lci_place");
    assertThat(size(place)).isEqualTo(Layout.PLACE_SIZE);
    assertField(place, "remote", Layout.PLACE_REMOTE, 8);
    assertField(place, "displacement", Layout.PLACE_DISPLACEMENT, 8);
  }

  @Test
  void functionsAreTheHeaders() {
    Map<String, Function> expected = new TreeMap<>(header.functions());
    assertThat(expected.keySet()).containsAll(NATIVE_ONLY);
    expected.keySet().removeAll(NATIVE_ONLY);
    Map<String, Function> actual = new TreeMap<>();
    for (Method method : NativeCalls.class.getDeclaredMethods()) {
      actual.put(Symbols.of(method), function(method));
    }
    assertThat(actual).isEqualTo(expected);
  }

  /** JNA binds the natives of its class by their own types, and by the names of the interface. */
  @Test
  void jnaBindsTheFunctionsOfTheHeader() {
    Map<String, Function> expected = new TreeMap<>(header.functions());
    expected.keySet().removeAll(NATIVE_ONLY);
    Map<String, Function> actual = new TreeMap<>();
    for (Method method : JnaCalls.class.getDeclaredMethods()) {
      if (Modifier.isNative(method.getModifiers())) {
        actual.put(Symbols.of(method), function(method));
      }
    }
    assertThat(actual).isEqualTo(expected);
  }

  @Test
  void theLoaderLooksForEveryFunction() {
    Set<String> expected = new TreeSet<>(header.functions().keySet());
    expected.removeAll(NATIVE_ONLY);
    assertThat(Symbols.all()).containsExactlyElementsOf(expected);
    assertThat(Symbols.all()).contains(Symbols.LAYOUT);
  }

  private static Function function(Method method) {
    var parameters = Arrays.stream(method.getParameterTypes()).map(Class::getName).toList();
    return new Function(method.getReturnType().getName(), parameters);
  }

  @SafeVarargs
  private static Set<String> union(Set<String>... sets) {
    return Arrays.stream(sets).flatMap(Set::stream).collect(Collectors.toUnmodifiableSet());
  }

  private static int size(Map<String, Field> fields) {
    return fields.get("").size();
  }

  private static void assertField(Map<String, Field> fields, String name, int offset, int size) {
    assertThat(fields.get(name)).as(name).isEqualTo(new Field(offset, size));
  }
}
