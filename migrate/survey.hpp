// SPDX-License-Identifier: Apache-2.0
//
// Reads a translation unit and adds to the findings: which names are written where, what must
// migrate together, and what stands in the way.
#pragma once

#include <clang/Tooling/Tooling.h>

#include <memory>

#include "findings.hpp"

namespace cppless::migrate {

// Both arguments must outlive the factory.
std::unique_ptr<clang::tooling::FrontendActionFactory> survey_into(findings& result,
                                                                   const changeable_files& files);

}  // namespace cppless::migrate
