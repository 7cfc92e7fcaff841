// SPDX-License-Identifier: Apache-2.0
// A camera with a thin lens: what lies at the distance of its target is sharp.
#pragma once

#include "math.hpp"

namespace ray {

class camera {
 public:
  camera() = default;
  // `angle` is that from the lower to the upper edge, in radians; `aspect` is width / height;
  // `lens` the radius of the lens.
  camera(const vec3& eye, const vec3& target, double angle, double aspect, double lens)
      : eye_(eye) {
    const double distance = length(eye - target), height = 2 * distance * std::tan(angle / 2);
    const vec3 back = unit(eye - target), right = unit(ray::cross({0, 1, 0}, back));
    const vec3 up = ray::cross(back, right);
    across_ = aspect * height * right;
    down_ = -height * up;
    corner_ = target - 0.5 * across_ - 0.5 * down_;
    lens_right_ = lens * right;
    lens_up_ = lens * up;
  }

  // The line through the point of the picture at (x, y), both in [0, 1], from the upper left.
  line through(double x, double y, generator& random) const {
    const double angle = random.number(0, 2 * std::numbers::pi), r = std::sqrt(random.number());
    const vec3 from = eye_ + r * std::cos(angle) * lens_right_ + r * std::sin(angle) * lens_up_;
    return {from, corner_ + x * across_ + y * down_ - from};
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(eye_, corner_, across_, down_, lens_right_, lens_up_);
  }

 private:
  vec3 eye_, corner_, across_, down_, lens_right_, lens_up_;
};

}  // namespace ray
