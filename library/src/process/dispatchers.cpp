// SPDX-License-Identifier: Apache-2.0
#include <cppless/dispatchers.hpp>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "base/worker_count.hpp"
#include "process/pool.hpp"
#include "process/program.hpp"
#include "process/worker_link.hpp"
#include "task/inline_instance.hpp"

namespace cppless {

namespace detail {
// Of the lambda room: there only in programs that are linked with it, since it brings HTTP and TLS
// along, which would slow the start of all others.
extern "C" [[gnu::weak]] void cppless_create_aws_instance(std::optional<instance>& created);
// Of the fiber room: there in all programs but functions for Lambda.
extern "C" [[gnu::weak]] void cppless_create_fiber_instance(std::optional<instance>& created);
}  // namespace detail

namespace {

unsigned worker_count(unsigned asked) {
  constexpr unsigned most = detail::max_workers / 2;
  if (asked == 0) return detail::default_worker_count(most);
  if (asked > most) {
    throw rejected(std::to_string(asked) + " workers were asked for; at most " +
                   std::to_string(most) + " can be started");
  }
  return asked;
}

}  // namespace

instance local_dispatcher::create_instance() const {
  if (detail::worker_loop::current() != nullptr) {
    return instance(std::make_shared<detail::nested_instance>());
  }
  const unsigned workers = worker_count(options_.workers);
  if (!detail::can_start_workers()) {
    throw rejected(
        "this program cannot start workers of itself, because it was linked without cppless's "
        "main: link cppless::cppless in CMake, or add -Wl,--wrap=main -lcppless_main -lcppless");
  }
  return instance(std::make_shared<detail::pool>(workers));
}

instance inline_dispatcher::create_instance() const {
  return instance(std::make_shared<detail::inline_instance>());
}

instance default_dispatcher::create_instance() const {
  const char* const text = std::getenv("CPPLESS_DISPATCHER");
  const std::string name = text == nullptr ? "" : text;
  if (name.empty() || name == "local") return local_dispatcher().create_instance();
  if (name == "inline") return inline_dispatcher().create_instance();
  if (name == "lambda") {
    if (&detail::cppless_create_aws_instance == nullptr) {
      throw rejected(
          "CPPLESS_DISPATCHER='lambda': this program was linked without the lambda dispatcher: use "
          "aws_lambda_target() in CMake or `cppless run --dispatcher lambda`, or link with "
          "-Wl,-u,cppless_create_aws_instance and -lnghttp2 -lssl -lcrypto");
    }
    std::optional<instance> created;
    detail::cppless_create_aws_instance(created);
    return std::move(*created);
  }
  if (name == "fiber") {
    if (&detail::cppless_create_fiber_instance == nullptr) {
      throw rejected(
          "CPPLESS_DISPATCHER='fiber': this program was linked without the fiber dispatcher: link "
          "cppless::cppless in CMake, or add -Wl,-u,cppless_create_fiber_instance");
    }
    std::optional<instance> created;
    detail::cppless_create_fiber_instance(created);
    return std::move(*created);
  }
  throw rejected("CPPLESS_DISPATCHER='" + name +
                 "' is not a dispatcher: use local, lambda, fiber or inline");
}

instance& default_instance() {
  static instance shared = default_dispatcher().create_instance();
  return shared;
}

}  // namespace cppless
