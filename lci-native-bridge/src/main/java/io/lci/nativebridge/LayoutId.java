/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/** Mirrors {@code lci_layout_id}: same order, with the value that this bridge was compiled for. */
enum LayoutId {
  ABI(Layout.ABI_VERSION),
  DESCRIPTOR_SIZE(Layout.DESCRIPTOR_SIZE),
  DESCRIPTOR_OUTCOME(Layout.DESCRIPTOR_OUTCOME),
  DESCRIPTOR_RANK(Layout.DESCRIPTOR_RANK),
  DESCRIPTOR_PORT(Layout.DESCRIPTOR_PORT),
  DESCRIPTOR_DEVICE(Layout.DESCRIPTOR_DEVICE),
  DESCRIPTOR_POLICY(Layout.DESCRIPTOR_POLICY),
  DESCRIPTOR_SIZE_FIELD(Layout.DESCRIPTOR_SIZE_FIELD),
  DESCRIPTOR_TAG(Layout.DESCRIPTOR_TAG),
  DESCRIPTOR_CONTEXT(Layout.DESCRIPTOR_CONTEXT),
  DESCRIPTOR_PAYLOAD(Layout.DESCRIPTOR_PAYLOAD),
  RECORD_SIZE(Layout.RECORD_SIZE),
  RECORD_CODE(Layout.RECORD_CODE),
  RECORD_RANK(Layout.RECORD_RANK),
  RECORD_PORT(Layout.RECORD_PORT),
  RECORD_INDEX(Layout.RECORD_INDEX),
  RECORD_SIZE_FIELD(Layout.RECORD_SIZE_FIELD),
  RECORD_TAG(Layout.RECORD_TAG),
  RECORD_CONTEXT(Layout.RECORD_CONTEXT),
  RECORD_PAYLOAD(Layout.RECORD_PAYLOAD),
  CONTROL_OFFSET,
  CONTROL_SPIN_NS(Layout.CONTROL_SPIN_NS),
  CONTROL_CQ_TAIL(Layout.CONTROL_CQ_TAIL),
  CONTROL_GENERATION(Layout.CONTROL_GENERATION),
  CONTROL_PACKET_COUNT(Layout.CONTROL_PACKET_COUNT),
  DEMAND_OFFSET,
  DEMAND_SIZE(Layout.DEMAND_SIZE),
  DEMAND_COUNT,
  SUBMISSION_OFFSET,
  SUBMISSION_COUNT,
  COMPLETION_OFFSET,
  COMPLETION_COUNT,
  INLINE_MAX(Layout.INLINE_MAX),
  PACKET_UNIT(Layout.PACKET_UNIT),
  PACKET_PAYLOAD;

  /** The value of {@link #expected()} where any value of the library will do. */
  static final long CHOSEN_BY_LIBRARY = -1;

  private final long expected;

  LayoutId() {
    this(CHOSEN_BY_LIBRARY);
  }

  LayoutId(long expected) {
    this.expected = expected;
  }

  long expected() {
    return expected;
  }

  /** Index in what {@code lci_layout} writes; the order of the constants is the header's. */
  @SuppressWarnings("EnumOrdinal")
  int index() {
    return ordinal();
  }
}
