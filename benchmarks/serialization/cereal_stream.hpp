// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload.hpp"

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include <istream>
#include <ostream>
#include <streambuf>

/// cereal's own binary archive over a stream whose buffer is memory that exists already, which is
/// faster than std::stringstream.
namespace cereal_stream {

struct memory : std::streambuf {
  memory(char* begin, std::size_t size) {
    setp(begin, begin + size);
    setg(begin, begin, begin + size);
  }
};


template <class T>
void encode(const T& value, char* to, std::size_t size) {
  memory buffer(to, size);
  std::ostream stream(&buffer);
  cereal::BinaryOutputArchive archive(stream);
  archive(value);
}

template <class T>
void decode(char* from, std::size_t size, T& value) {
  memory buffer(from, size);
  std::istream stream(&buffer);
  cereal::BinaryInputArchive archive(stream);
  archive(value);
}

}  // namespace cereal_stream

namespace workload {
/// cereal has no notion of plain aggregates: this is the function a user writes for it, hidden from
/// cppless's archives.
template <class Archive>
  requires std::is_same_v<Archive, cereal::BinaryOutputArchive> ||
           std::is_same_v<Archive, cereal::BinaryInputArchive>
void serialize(Archive& archive, plain& value) {
  archive(value.a, value.b, value.text);
}
}  // namespace workload
