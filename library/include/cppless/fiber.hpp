// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tasks and futures on the cores at hand, at the cost of a few function calls each.

#include <cppless/fiber/runtime.hpp>
