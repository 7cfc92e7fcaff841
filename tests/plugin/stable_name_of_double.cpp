// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// NEEDS: 18
// expected-no-diagnostics
#include "stable_name.hpp"

template <auto V>
struct any_value {};

EXPECT_NAME("any_value<2.5>", any_value<2.5>);
EXPECT_NAME("any_value<2.5000000000000004>", any_value<2.5000000000000004>);
