/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.Op;
import io.lci.internal.lane.BufferPool;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.post.Destination;
import io.lci.internal.post.OpCodec;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A graph as the core takes it: nodes, edges, and the descriptors of its operations, whose memory
 * lives as long as the graph. Loop only.
 */
final class GraphTable {
  final ByteBuffer nodes;
  final ByteBuffer edges;
  final ByteBuffer ops;
  private final int nodeCount;
  private final int edgeCount;
  private int opEntries;

  /** By node: what its operation refers to. */
  private final @Nullable PooledBuffer[] memory;

  GraphTable(Outbox outbox, List<GraphNode<?>> list, int[] edgeTable) {
    nodeCount = list.size();
    edgeCount = edgeTable.length / 2;
    nodes = direct(nodeCount * Layout.GRAPH_NODE_SIZE);
    edges = direct(edgeCount * Layout.GRAPH_EDGE_SIZE);
    ops = direct(mostEntries(list) * Layout.DESCRIPTOR_SIZE);
    memory = new PooledBuffer[nodeCount];
    for (int value : edgeTable) {
      edges.putInt(value);
    }
    PostWriter writer = PostWriter.ofTable(ops, outbox.lane.layout, outbox.core.arena, outbox.pool);
    for (GraphNode<?> node : list) {
      nodes.putInt(kind(node.op));
      nodes.putInt(opEntries);
      if (node.op != null) {
        write(writer, outbox, node.op, node.index);
      }
    }
  }

  private static int kind(@Nullable Op op) {
    if (op == null) {
      return Codes.NODE_HOST;
    }
    return OpParts.isPerRun(op) ? Codes.NODE_OP_PER_RUN : Codes.NODE_OP;
  }

  private void write(PostWriter writer, Outbox outbox, Op op, int node) {
    writer.begin(opEntries * Layout.DESCRIPTOR_SIZE, OpParts.payloadBytes(op));
    OpCodec.encode(op, outbox.core, writer);
    memory[node] = writer.buffer();
    Destination to = OpCodec.destination(outbox, op);
    opEntries += writer.finish(to.rank, to.port, to.device, 0);
  }

  private static int mostEntries(List<GraphNode<?>> list) {
    int entries = 0;
    for (GraphNode<?> node : list) {
      if (node.op != null) {
        int size = OpParts.payloadBytes(node.op);
        int inline = size > Layout.INLINE_MAX ? 0 : size + Layout.DESCRIPTOR_SIZE - 1;
        entries += 1 + inline / Layout.DESCRIPTOR_SIZE;
      }
    }
    return entries + 1 + Layout.INLINE_MAX / Layout.DESCRIPTOR_SIZE; // room to write before moving
  }

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(Math.max(1, bytes)).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Uploads it; returns a code. */
  int upload(Lane lane, long outId) {
    return lane.calls.laneGraphCreate(
        lane.handle,
        NativeMemory.address(nodes),
        nodeCount,
        NativeMemory.address(edges),
        edgeCount,
        NativeMemory.address(ops),
        opEntries,
        0,
        outId);
  }

  @Nullable PooledBuffer memory(int node) {
    return memory[node];
  }

  /** The core has forgotten the graph. */
  void giveBack(BufferPool pool) {
    for (PooledBuffer buffer : memory) {
      pool.give(buffer);
    }
  }
}
