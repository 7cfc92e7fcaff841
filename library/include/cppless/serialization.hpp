// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The standard types that need a header of cereal's, and pointers to polymorphic classes with
/// CEREAL_REGISTER_TYPE. Everything else that <cppless/binary_archive.hpp> lists works without.
/// Costs about 0.4 s of compile time; include single headers of cereal's instead where that counts.
#include <cppless/binary_archive.hpp>

#include <cereal/types/atomic.hpp>
#include <cereal/types/bitset.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/forward_list.hpp>
#include <cereal/types/functional.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/queue.hpp>
#include <cereal/types/stack.hpp>
#include <cereal/types/valarray.hpp>
