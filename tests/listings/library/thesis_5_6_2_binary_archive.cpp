// SPDX-License-Identifier: Apache-2.0
// RUN: output
// OUT: 7
// OUT: 7
// Thesis 5.6.2: a tree that every task needs, serialised once by hand and again in the task's body.
// The listing's bvh_node is the benchmark's; a tree of the same shape stands for it.
#include <cppless/cppless.hpp>

#include <iostream>
#include <memory>
#include <vector>

struct bvh_node {
  int objects = 0;
  std::unique_ptr<bvh_node> left, right;
};

int count(const bvh_node& node) {
  return node.objects + (node.left ? count(*node.left) : 0) + (node.right ? count(*node.right) : 0);
}

int main() {
  bvh_node bvh_root{1, std::make_unique<bvh_node>(), std::make_unique<bvh_node>()};
  bvh_root.left->objects = 2;
  bvh_root.right->objects = 4;

  auto bvh_serialized = cppless::binary_archive::serialize(bvh_root);
  auto task = [=] {
    // In the task body:
    bvh_node world;
    cppless::binary_archive::deserialize(bvh_serialized, world);
    return count(world);
  };

  auto instance = cppless::local_dispatcher().create_instance();
  std::vector<int> results(2);
  for (int& result : results) cppless::dispatch(instance, task, result);
  cppless::wait(instance, results.size());
  for (const int result : results) std::cout << result << std::endl;
}
