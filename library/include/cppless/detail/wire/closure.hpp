// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/binary.hpp>

/// Lambdas whose captures the plugin lets us see (thesis 3.1.2).
namespace cppless::detail {

/// All captures, in order, with one archive: a shared object that two of them hold stays shared.
template <class F>
void encode_closure(sink& out, const F& closure) {
  encode(out, closure);
}

/// Room for a closure, in which it is rebuilt capture by capture.
template <class F>
class closure_storage {
 public:
  /// Throws `rejected` for malformed bytes; captures already built are destroyed in reverse.
  explicit closure_storage(source& in) {
    decode_at(in, storage_.place());
    storage_.mark_alive();
  }

  F& operator*() noexcept { return *storage_; }
  F* operator->() noexcept { return storage_.place(); }

 private:
  storage_for<F> storage_;
};

}  // namespace cppless::detail
