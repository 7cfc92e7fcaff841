# SPDX-License-Identifier: Apache-2.0
"""The sources whose compilation is timed."""

HEADER = """#include <cppless/cppless.hpp>
#include <cstdio>
#include <string>
#include <vector>
"""

# Each body differs, so that no two lambdas share code. Captures and arguments are what users have:
# numbers, a vector, a string.
LAMBDA = """
double step_{i}({instance}double scale, const std::vector<double>& weights) {{
  auto work = [scale, weights](int times, std::string label) {{
    double sum = {i};
    for (int i = 0; i < times; ++i) {{
      for (double weight : weights) sum += scale * weight / (i + {i} + 1) + label.size();
    }}
    return sum;
  }};
{call}
}}
"""

DIRECT = """  return work({i} % 5 + 1, "a label that is too long for the small string {i}");"""

DISPATCHED = """  double result = 0;
  cppless::dispatch(instance, work, result,
                    {{{i} % 5 + 1, "a label that is too long for the small string {i}"}});
  instance.wait_one();
  return result;"""


def entries(count, dispatched):
    """A program with `count` lambdas, dispatched or called; both print the same number."""
    text = HEADER
    for i in range(count):
        call = (DISPATCHED if dispatched else DIRECT).format(i=i)
        text += LAMBDA.format(i=i, call=call,
                              instance="cppless::instance& instance, " if dispatched else "")
    text += "\nint main() {\n  const std::vector<double> weights = {0.5, 1.5, 2.5};\n"
    if dispatched:
        text += ("  cppless::instance instance = "
                 "cppless::local_dispatcher({.workers = 1}).create_instance();\n")
    text += "  double sum = 0;\n"
    for i in range(count):
        text += f"  sum += step_{i}({'instance, ' if dispatched else ''}{i} * 0.25, weights);\n"
    return text + '  std::printf("%.17g\\n", sum);\n}\n'


def stl_heavy(count=10):
    """A source without tasks that keeps a front end busy: containers, algorithms, closures."""
    text = "".join(f"#include <{name}>\n" for name in (
        "algorithm", "functional", "iostream", "map", "memory", "numeric", "optional", "regex",
        "set", "string", "thread", "unordered_map", "variant", "vector"))
    for i in range(count):
        text += f"""
struct record_{i} {{
  int key = {i};
  std::string name;
  std::vector<double> values;
  bool operator<(const record_{i}& other) const {{ return key < other.key; }}
}};
inline int use_{i}(const std::vector<record_{i}>& given) {{
  std::map<std::string, record_{i}> by_name;
  std::set<record_{i}> ordered(given.begin(), given.end());
  std::unordered_map<int, std::shared_ptr<record_{i}>> by_key;
  std::variant<int, std::string, record_{i}> any = record_{i}{{}};
  for (const auto& each : given) {{
    by_name[each.name] = each;
    by_key.emplace(each.key, std::make_shared<record_{i}>(each));
  }}
  auto copy = given;
  std::sort(copy.begin(), copy.end(), [](const auto& a, const auto& b) {{ return a < b; }});
  std::function<int(int)> add = [n = copy.size()](int x) {{ return x + static_cast<int>(n); }};
  return std::accumulate(copy.begin(), copy.end(), add({i}),
                         [&](int sum, const record_{i}& each) {{ return sum + each.key; }}) +
         static_cast<int>(by_name.size() + ordered.size() + by_key.size() + any.index());
}}
int call_{i}() {{ return use_{i}({{record_{i}{{}}, record_{i}{{}}}}); }}
"""
    return text
