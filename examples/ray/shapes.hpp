// SPDX-License-Identifier: Apache-2.0
// What light can hit: spheres, blocks, and the hierarchy of bounding boxes that finds them in
// logarithmic time. The hierarchy is a shape as well, so a whole world is one shared pointer.
#pragma once

#include <span>
#include <vector>

#include "materials.hpp"

namespace ray {

class shape {
 public:
  virtual ~shape() = default;

  virtual box bounds() const = 0;

  // Looks for a crossing nearer than `nearest.distance`; if there is one, puts it there.
  virtual bool find(const line& l, crossing& nearest) const = 0;

  template <class Archive>
  void serialize(Archive&) {}
};

// Nearer crossings are the surface just left, missed by rounding.
constexpr double closest = 1e-6;

class sphere : public shape {
 public:
  sphere() = default;
  sphere(const vec3& centre, double radius, std::shared_ptr<material> surface)
      : centre_(centre), radius_(radius), surface_(std::move(surface)) {}

  box bounds() const override {
    const vec3 r = {radius_, radius_, radius_};
    return {centre_ - r, centre_ + r};
  }

  bool find(const line& l, crossing& nearest) const override {
    const vec3 off = l.origin - centre_;
    const double a = dot(l.direction, l.direction), b = dot(off, l.direction);
    const double square = b * b - a * (dot(off, off) - radius_ * radius_);
    if (square < 0) return false;
    const double root = std::sqrt(square);
    double t = (-b - root) / a;
    if (t < closest) t = (-b + root) / a;
    if (t < closest || t >= nearest.distance) return false;
    const vec3 point = l.at(t), outward = 1 / radius_ * (point - centre_);
    const bool entering = dot(outward, l.direction) < 0;
    nearest = {t, point, entering ? outward : -outward, entering, surface_.get()};
    return true;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(centre_, radius_, surface_);
  }

 private:
  vec3 centre_;
  double radius_ = 0;
  std::shared_ptr<material> surface_;
};

class block : public shape {
 public:
  block() = default;
  block(const box& extent, std::shared_ptr<material> surface)
      : extent_(extent), surface_(std::move(surface)) {}

  box bounds() const override { return extent_; }

  bool find(const line& l, crossing& nearest) const override {
    const auto [in, out] = extent_.stretch(l);
    const bool entering = in >= closest;
    const double t = entering ? in : out;
    if (in > out || t < closest || t >= nearest.distance) return false;
    nearest = {t, l.at(t), against(l, t), entering, surface_.get()};
    return true;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(extent_, surface_);
  }

 private:
  // The normal of the face nearest to the point at t.
  vec3 against(const line& l, double t) const {
    const vec3 d = l.at(t) - extent_.centre(), half = 0.5 * (extent_.high - extent_.low);
    const double x = std::abs(d.x) / half.x, y = std::abs(d.y) / half.y, z = std::abs(d.z) / half.z;
    const vec3 towards = -l.direction;
    if (x > y && x > z) return {std::copysign(1, towards.x), 0, 0};
    if (y > z) return {0, std::copysign(1, towards.y), 0};
    return {0, 0, std::copysign(1, towards.z)};
  }

  box extent_;
  std::shared_ptr<material> surface_;
};

// Two shapes and the box around both.
class branch : public shape {
 public:
  branch() = default;
  branch(std::shared_ptr<shape> left, std::shared_ptr<shape> right)
      : bounds_(left->bounds().around(right->bounds())),
        left_(std::move(left)),
        right_(std::move(right)) {}

  box bounds() const override { return bounds_; }

  bool find(const line& l, crossing& nearest) const override {
    const auto [in, out] = bounds_.stretch(l);
    if (in > out || out < closest || in >= nearest.distance) return false;
    const bool left = left_->find(l, nearest), right = right_->find(l, nearest);
    return left || right;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(bounds_, left_, right_);
  }

 private:
  box bounds_;
  std::shared_ptr<shape> left_, right_;
};

// Halves the shapes along the axis on which their centres are furthest apart, and so on below.
inline std::shared_ptr<shape> hierarchy(std::span<std::shared_ptr<shape>> shapes) {
  if (shapes.size() == 1) return shapes[0];
  const auto centre = [](const std::shared_ptr<shape>& s) { return s->bounds().centre(); };
  vec3 low = centre(shapes[0]), high = low;
  for (const auto& s : shapes) {
    low = min(low, centre(s));
    high = max(high, centre(s));
  }
  const vec3 spread = high - low;
  const int axis = spread.x > spread.y && spread.x > spread.z ? 0 : spread.y > spread.z ? 1 : 2;
  std::ranges::sort(shapes, {}, [=](const auto& s) { return centre(s)[axis]; });
  const std::size_t half = shapes.size() / 2;
  return std::make_shared<branch>(hierarchy(shapes.first(half)), hierarchy(shapes.subspan(half)));
}

}  // namespace ray

CEREAL_REGISTER_TYPE(ray::sphere)
CEREAL_REGISTER_TYPE(ray::block)
CEREAL_REGISTER_TYPE(ray::branch)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::shape, ray::sphere)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::shape, ray::block)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ray::shape, ray::branch)
