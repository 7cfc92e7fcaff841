// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `x * x`, computed by a task that the shared library contains.
int square_elsewhere(int x);
