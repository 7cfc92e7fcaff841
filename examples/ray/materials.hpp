// SPDX-License-Identifier: Apache-2.0
// What light does at a surface. Materials are polymorphic and shared between shapes; the cereal
// registrations at the end are all that cppless needs to carry them.
#pragma once

#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>

#include <optional>

#include "math.hpp"

namespace ray {

class material;

struct crossing {
  double distance = 1e9;  // along the line, in multiples of its direction
  vec3 point = {};
  vec3 normal = {};      // against the line
  bool entering = true;  // false: the line leaves the shape
  const material* surface = nullptr;
};

struct bounce {
  line onward;
  vec3 tint;
};

class material {
 public:
  virtual ~material() = default;

  virtual vec3 glow() const { return {}; }

  // Where the light came from, and how much of each colour passes; nothing if it was absorbed.
  virtual std::optional<bounce> scatter(const line&, const crossing&, generator&) const {
    return std::nullopt;
  }

  template <class Archive>
  void serialize(Archive&) {}
};

class matte : public material {
 public:
  matte() = default;
  explicit matte(const vec3& colour) : colour_(colour) {}

  std::optional<bounce> scatter(const line&, const crossing& c, generator& random) const override {
    return bounce{{c.point, c.normal + 0.9999 * random.direction()}, colour_};
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(colour_);
  }

 private:
  vec3 colour_;
};

// Two other materials in squares, seen from above.
class checker : public material {
 public:
  checker() = default;
  checker(std::shared_ptr<material> even, std::shared_ptr<material> odd, double side)
      : even_(std::move(even)), odd_(std::move(odd)), side_(side) {}

  std::optional<bounce> scatter(const line& l, const crossing& c,
                                generator& random) const override {
    const long square = std::lround(c.point.x / side_) + std::lround(c.point.z / side_);
    return (square % 2 == 0 ? even_ : odd_)->scatter(l, c, random);
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(even_, odd_, side_);
  }

 private:
  std::shared_ptr<material> even_, odd_;
  double side_ = 1;
};

class metal : public material {
 public:
  metal() = default;
  metal(const vec3& colour, double roughness) : colour_(colour), roughness_(roughness) {}

  std::optional<bounce> scatter(const line& l, const crossing& c,
                                generator& random) const override {
    const vec3 mirrored = reflect(unit(l.direction), c.normal) + roughness_ * random.direction();
    if (dot(mirrored, c.normal) <= 0) return std::nullopt;
    return bounce{{c.point, mirrored}, colour_};
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(colour_, roughness_);
  }

 private:
  vec3 colour_;
  double roughness_ = 0;
};

class glass : public material {
 public:
  glass() = default;
  glass(const vec3& colour, double index) : colour_(colour), index_(index) {}

  std::optional<bounce> scatter(const line& l, const crossing& c,
                                generator& random) const override {
    const vec3 in = unit(l.direction);
    const double ratio = c.entering ? 1 / index_ : index_;
    const double cosine = std::min(-dot(in, c.normal), 1.0);
    const vec3 across = ratio * (in + cosine * c.normal);
    const double rest = 1 - dot(across, across);
    if (rest < 0 || reflectance(cosine) > random.number())
      return bounce{{c.point, reflect(in, c.normal)}, colour_};
    return bounce{{c.point, across - std::sqrt(rest) * c.normal}, colour_};
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(colour_, index_);
  }

 private:
  // Schlick's approximation.
  double reflectance(double cosine) const {
    const double straight = std::pow((1 - index_) / (1 + index_), 2);
    return straight + (1 - straight) * std::pow(1 - cosine, 5);
  }

  vec3 colour_;
  double index_ = 1;
};

class lamp : public material {
 public:
  lamp() = default;
  explicit lamp(const vec3& light) : light_(light) {}

  vec3 glow() const override { return light_; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(light_);
  }

 private:
  vec3 light_;
};

}  // namespace ray

CEREAL_REGISTER_TYPE(ray::matte)
CEREAL_REGISTER_TYPE(ray::checker)
CEREAL_REGISTER_TYPE(ray::metal)
CEREAL_REGISTER_TYPE(ray::glass)
CEREAL_REGISTER_TYPE(ray::lamp)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::material, ray::matte)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::material, ray::checker)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::material, ray::metal)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::material, ray::glass)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::material, ray::lamp)
