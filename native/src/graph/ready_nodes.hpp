// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_READY_NODES_HPP_
#define LCI_GRAPH_READY_NODES_HPP_

#include "completion/completion.hpp"
#include "graph/node.hpp"

namespace lci {

/**
 * The nodes, of any graph, that this thread has to fire. The outermost scope of a thread fires them, one after another,
 * in signal context; inner ones, in functions of nodes, only add to its list. So no chain nests. One in a handler
 * leaves its list until the handler has returned.
 */
class ReadyNodes {
 public:
  ReadyNodes();
  ~ReadyNodes();
  ReadyNodes(const ReadyNodes&) = delete;
  ReadyNodes& operator=(const ReadyNodes&) = delete;

  static void add(Step& step);
  /// Fires what is listed, unless a scope further out does it, or the end of a handler.
  void fire();

 private:
  static void fire_left();

  Step* first_ = nullptr;
  Step* last_ = nullptr;
  ReadyNodes* const further_out_;  // the outermost scope, if that is another one
};

}  // namespace lci

#endif  // LCI_GRAPH_READY_NODES_HPP_
