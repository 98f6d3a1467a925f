// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_READY_NODES_HPP_
#define LCI_GRAPH_READY_NODES_HPP_

#include "completion/completion.hpp"
#include "graph/node.hpp"

namespace lci {

/**
 * The nodes, of any graph, that this thread has to fire. The outermost scope of a thread fires them, one after another,
 * in signal context; inner ones, in functions of nodes and in handlers, only add to its list. So no chain nests.
 */
class ReadyNodes {
 public:
  ReadyNodes();
  ~ReadyNodes();
  ReadyNodes(const ReadyNodes&) = delete;
  ReadyNodes& operator=(const ReadyNodes&) = delete;

  static void add(Node& node);
  /// Fires what is listed, unless a scope further out does it.
  void fire();

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  bool outermost_;
};

}  // namespace lci

#endif  // LCI_GRAPH_READY_NODES_HPP_
