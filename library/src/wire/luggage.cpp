// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/luggage.hpp>

#include <string>

#include <cppless/errors.hpp>

namespace cppless::detail {

luggage::~luggage() {
  for (; at_ < items_.size(); ++at_) {
    if (items_[at_].value != nullptr) items_[at_].destroy(items_[at_].value);
  }
}

void* luggage::next() {
  if (at_ == items_.size()) {
    throw rejected("value " + std::to_string(at_ + 1) + " of a task was asked for, which has " +
                   std::to_string(items_.size()));
  }
  return items_[at_++].value;
}

}  // namespace cppless::detail
