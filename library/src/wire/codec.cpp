// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/codec.hpp>

namespace cppless::detail {

void encode_values(sink& to, const codec* const* codecs, const void* const* places) {
  std::size_t total = 0;
  for (std::size_t i = 0; codecs[i] != nullptr; ++i) {
    total += codecs[i]->measure != nullptr ? codecs[i]->measure(places[i]) : codecs[i]->least;
  }
  to.make_room(total);
  for (std::size_t i = 0; codecs[i] != nullptr; ++i) codecs[i]->encode(to, places[i]);
}

decoded_values::decoded_values(source& from, const codec* const* codecs, void* const* places)
    : codecs_(codecs), places_(places) {
  try {
    for (; codecs[alive_] != nullptr; ++alive_) codecs[alive_]->decode(from, places[alive_]);
  } catch (...) {
    destroy();
    throw;
  }
}

void decoded_values::destroy() noexcept {
  while (alive_ != 0) {
    --alive_;
    if (codecs_[alive_]->destroy != nullptr) codecs_[alive_]->destroy(places_[alive_]);
  }
}

}  // namespace cppless::detail
