// SPDX-License-Identifier: Apache-2.0
// RUN: output
// OUT: literal "quoted"|an array|a pointer|element|object|abc|member|dependent|from base|padded|
// Reads its own records, as cppless++ does from the linked file.
#include <array>
#include <cstdio>

struct fixed {
  int before = 1;
  char value[8];
};
struct derived : fixed {};
constexpr char array[] = "an array";
constexpr const char* pointer = "a pointer";
constexpr fixed object{1, "object"};
constexpr std::array<char, 3> letters{'a', 'b', 'c'};
constexpr derived from_base{{1, "frm"}};
constexpr char padded[64] = "padded";
constexpr struct { fixed inner; } holder{{2, "member"}};
struct base_text { char text[10] = "from base"; };
struct with_base : base_text { int more = 0; };
constexpr with_base inherited{};

__attribute__((entry, metadata("literal \"quoted\""))) int e1(int, char**) {}
__attribute__((entry, metadata(array))) int e2(int, char**) {}
__attribute__((metadata(pointer), entry)) int e3(int, char**) {}
__attribute__((entry, meta(&"an element"[3]))) int e4(int, char**) {}
__attribute__((entry, meta(object))) int e5(int, char**) {}
__attribute__((entry, meta(letters))) int e6(int, char**) {}
__attribute__((entry, meta(holder.inner.value))) int e7(int, char**) {}
template <class T>
struct task {
  static constexpr const char* text = T::text;
  __attribute__((entry, metadata(text))) static int main(int, char**) {}
};
struct named {
  static constexpr char text[] = "dependent";
};
template struct task<named>;
__attribute__((entry, meta(inherited))) int e9(int, char**) {}
__attribute__((entry, meta(padded))) int e10(int, char**) {}

struct record {
  int (*function)(int, char**);
  const char* mangled_name;
  const char* user_meta;
  unsigned long size;
};
extern "C" const record __start_cppless_raw_entries[], __stop_cppless_raw_entries[];
int main() {
  for (const record* r = __start_cppless_raw_entries; r != __stop_cppless_raw_entries; ++r) {
    std::printf("%.*s|", static_cast<int>(r->size), r->user_meta);
  }
  std::puts("");
}
