// SPDX-License-Identifier: Apache-2.0
#include "by_hand.hpp"
#include "cereal_stream.hpp"
#include "harness.hpp"
#include "workload.hpp"

#include <cppless/binary_archive.hpp>
#include <cppless/json_binary_archive.hpp>

#include <stdexcept>

/// Encode: into memory that was written before ("encode") and into new memory ("encode/new").
/// Decode: over the values of before ("decode") and into new objects ("decode/new").
/// The reference is a loop written by hand for the type, without any check.
namespace {

using bench::implementation;
template <class Work>
double milliseconds(Work&& work) {
  return bench::seconds(work) * 1e3;
}

constexpr auto unit = bench::unit::ms;

/// Memory that exists already. All implementations write to the same, or the caches would favour
/// some.
struct room_sink final : cppless::detail::sink {
  explicit room_sink(cppless::bytes& room) : sink(room.data(), room.size()) {}
  void grow(std::size_t) override { throw std::length_error("the encoding is too long"); }
};

template <class T>
struct fixture {
  explicit fixture(T made)
      : values(std::move(made)),
        size(by_hand::size_of(values)),
        expected(size),
        room(size),
        json(cppless::json_binary_archive::serialize(values)) {
    by_hand::encode(values, characters(expected));
  }

  static char* characters(cppless::bytes& data) { return reinterpret_cast<char*>(data.data()); }

  const T values;
  const std::size_t size;
  cppless::bytes expected;
  cppless::bytes room;
  std::string json;
  std::string made_json;
  T decoded;

  bool room_is_right() const { return room == expected; }
  bool decoded_is_right() const { return decoded == values; }
};

template <class T>
void encode_cases(bench::suite& suite, const std::string& name, fixture<T>& f) {
  const auto check = [&] { return f.room_is_right(); };
  suite.compare(
      name + "/encode", unit, "by hand",
      {{"by hand",
        [&] { return milliseconds([&] { by_hand::encode(f.values, f.characters(f.room)); }); },
        check},
       {"memcpy of as many bytes",
        [&] {
          return milliseconds(
              [&] { std::memcpy(f.room.data(), f.expected.data(), f.size); });
        },
        check},
       {"cppless binary",
        [&] {
          return milliseconds([&] {
            room_sink sink(f.room);
            cppless::detail::encode(sink, f.values);
          });
        },
        check},
       {"cereal binary", [&] {
          return milliseconds(
              [&] { cereal_stream::encode(f.values, f.characters(f.room), f.size); });
        }, check}});
}

template <class T>
void encode_new_cases(bench::suite& suite, const std::string& name, fixture<T>& f) {
  const auto check = [&] { return f.room_is_right(); };
  suite.compare(
      name + "/encode/new", unit, "by hand",
      {{"by hand",
        [&] {
          f.room = {};
          return milliseconds([&] {
            f.room = cppless::bytes(by_hand::size_of(f.values));
            by_hand::encode(f.values, f.characters(f.room));
          });
        },
        check},
       {"cppless binary",
        [&] {
          f.room = {};
          return milliseconds([&] { f.room = cppless::binary_archive::serialize(f.values); });
        },
        check},
       {"cppless binary in JSON", [&] {
          std::string().swap(f.made_json);  // `= {}` would keep the memory
          return milliseconds(
              [&] { f.made_json = cppless::json_binary_archive::serialize(f.values); });
        }, [&] { return f.made_json == f.json; }}});
}

template <class T>
void decode_cases(bench::suite& suite, const std::string& name, fixture<T>& f) {
  const auto check = [&] { return f.decoded_is_right(); };
  std::vector<implementation> all = {
      {"by hand", [&] {
         return milliseconds([&] { by_hand::decode(f.characters(f.expected), f.decoded); });
       }, check},
      {"cppless binary", [&] {
         return milliseconds([&] { cppless::binary_archive::deserialize(f.expected, f.decoded); });
       }, check},
      {"cppless binary in JSON", [&] {
         return milliseconds([&] { cppless::json_binary_archive::deserialize(f.json, f.decoded); });
       }, check},
      {"cereal binary", [&] {
         return milliseconds(
             [&] { cereal_stream::decode(f.characters(f.expected), f.size, f.decoded); });
       }, check}};
  suite.compare(name + "/decode", unit, "by hand", all);
  for (auto& each : all) {
    each.measure = [&f, work = each.measure] {
      f.decoded = T();
      return work();
    };
  }
  suite.compare(name + "/decode/new", unit, "by hand", all);
}

template <class T>
void all_cases(bench::suite& suite, const std::string& name, T (*make)()) {
  if (!suite.wants(name)) return;
  fixture<T> f(make());
  encode_cases(suite, name, f);
  encode_new_cases(suite, name, f);
  decode_cases(suite, name, f);
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("serialization", argc, argv);
  all_cases(suite, "u32", workload::make_numbers);
  all_cases(suite, "struct", workload::make_structs<workload::plain>);
  all_cases(suite, "struct with function", workload::make_structs<workload::with_function>);
  return suite.finish();
}
