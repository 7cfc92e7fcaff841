// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/codec.hpp>

namespace cppless::detail {

namespace {

void pack_values(sink& to, luggage& beside, const codec* const* codecs,
                 const void* const* places) {
  for (std::size_t i = 0; codecs[i] != nullptr; ++i) {
    if (codecs[i]->pack == nullptr) {
      beside.pass_over();
    } else if (codecs[i]->pack(beside, places[i])) {
      continue;
    }
    codecs[i]->encode(to, places[i]);
  }
}

}  // namespace

void encode_values(sink& to, const codec* const* codecs, const void* const* places) {
  if (to.beside() != nullptr) [[unlikely]] {
    return pack_values(to, *to.beside(), codecs, places);
  }
  std::size_t total = 0;
  for (std::size_t i = 0; codecs[i] != nullptr; ++i) {
    total += codecs[i]->measure != nullptr ? codecs[i]->measure(places[i]) : codecs[i]->least;
  }
  to.make_room(total);
  for (std::size_t i = 0; codecs[i] != nullptr; ++i) codecs[i]->encode(to, places[i]);
}

decoded_values::decoded_values(source& from, const codec* const* codecs, void* const* places)
    : codecs_(codecs), places_(places) {
  luggage* const beside = from.beside();
  try {
    for (; codecs[alive_] != nullptr; ++alive_) {
      const codec& one = *codecs[alive_];
      void* const place = places[alive_];
      if (beside != nullptr && one.unpack != nullptr && one.unpack(*beside, place)) continue;
      one.decode(from, place);
    }
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
