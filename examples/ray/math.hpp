// SPDX-License-Identifier: Apache-2.0
// Vectors, rays, boxes and random numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace ray {

// A point, a direction or a colour. An aggregate: cppless carries it without further code.
struct vec3 {
  double x = 0, y = 0, z = 0;

  double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  vec3 operator-() const { return {-x, -y, -z}; }
  vec3& operator+=(const vec3& b) { return *this = {x + b.x, y + b.y, z + b.z}; }
  friend vec3 operator+(const vec3& a, const vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend vec3 operator-(const vec3& a, const vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend vec3 operator*(const vec3& a, const vec3& b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
  friend vec3 operator*(double k, const vec3& a) { return {k * a.x, k * a.y, k * a.z}; }
};

inline double dot(const vec3& a, const vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline vec3 cross(const vec3& a, const vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double length(const vec3& a) { return std::sqrt(dot(a, a)); }
inline vec3 unit(const vec3& a) { return 1 / length(a) * a; }
inline vec3 mix(const vec3& a, const vec3& b, double share) { return (1 - share) * a + share * b; }
inline vec3 reflect(const vec3& v, const vec3& normal) { return v - 2 * dot(v, normal) * normal; }
inline vec3 min(const vec3& a, const vec3& b) {
  return {std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)};
}
inline vec3 max(const vec3& a, const vec3& b) {
  return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
}

struct line {
  line(const vec3& from, const vec3& along)
      : origin(from), direction(along), inverse{1 / along.x, 1 / along.y, 1 / along.z} {}
  vec3 at(double t) const { return origin + t * direction; }

  vec3 origin, direction, inverse;
};

// An axis-aligned box.
struct box {
  vec3 low, high;

  box around(const box& other) const { return {min(low, other.low), max(high, other.high)}; }
  vec3 centre() const { return 0.5 * (low + high); }

  // The stretch [first, second] of the line inside the box; empty if first > second.
  std::pair<double, double> stretch(const line& l) const {
    const vec3 a = (low - l.origin) * l.inverse, b = (high - l.origin) * l.inverse;
    const vec3 in = min(a, b), out = max(a, b);
    return {std::max({in.x, in.y, in.z}), std::min({out.x, out.y, out.z})};
  }
};

// SplitMix64. Cheap to seed: each pixel gets a generator of its own, so its colour depends neither
// on the tile it is in nor on the worker that paints it.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) { state_ = next(); }

  double number() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  double number(double low, double high) { return low + (high - low) * number(); }

  vec3 direction() {
    const double z = number(-1, 1), angle = number(0, 2 * std::numbers::pi);
    const double radius = std::sqrt(1 - z * z);
    return {radius * std::cos(angle), radius * std::sin(angle), z};
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace ray
