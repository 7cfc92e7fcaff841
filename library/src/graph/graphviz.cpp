// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/graph/graph_core.hpp>

#include <ostream>
#include <string_view>

namespace cppless::detail {
namespace {

void write_quoted(std::ostream& to, std::string_view text) {
  to << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') to << '\\';
    if (c == '\n') {
      to << "\\n";
    } else {
      to << c;
    }
  }
  to << '"';
}

std::string label_of(const graph_node& node) {
  if (!node.name.empty()) return node.name;
  if (node.what != nullptr) return node.what->name();
  switch (node.kind) {
    case node_kind::given: return "value";
    case node_kind::gather:
    case node_kind::sized_gather: return "all";
    default: return "start";
  }
}

const char* color_of(node_state state) {
  switch (state) {
    case node_state::added:
    case node_state::waiting:
    case node_state::ready: return "white";
    case node_state::running: return "lightyellow";
    case node_state::done: return "palegreen";
    case node_state::failed: return "lightcoral";
    case node_state::cancelled: return "lightgray";
  }
  return "white";
}

}  // namespace

void graph_core::write_graphviz(std::ostream& to) const {
  const std::lock_guard lock(mutex_);
  to << "digraph cppless {\n  node [style=filled];\n";
  for (node_index index = 0; index < count(); ++index) {
    const graph_node& node = nodes_[index];
    to << "  n" << index << " [label=";
    write_quoted(to, label_of(node));
    to << ", shape=" << (node.kind == node_kind::task ? "box" : "ellipse")
       << ", fillcolor=" << color_of(node.state) << "];\n";
  }
  for (node_index index = 0; index < count(); ++index) {
    for (const node_index from : nodes_[index].inputs) to << "  n" << from << " -> n" << index << ";\n";
  }
  to << "}\n";
}

}  // namespace cppless::detail
