// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tasks and futures on the cores at hand, at the cost of a few function calls each.

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/barrier.hpp>
#include <cppless/fiber/blocking.hpp>
#include <cppless/fiber/channel.hpp>
#include <cppless/fiber/condition_variable.hpp>
#include <cppless/fiber/continuations.hpp>
#include <cppless/fiber/fiber_local.hpp>
#include <cppless/fiber/future.hpp>
#include <cppless/fiber/latch.hpp>
#include <cppless/fiber/mutex.hpp>
#include <cppless/fiber/packaged_task.hpp>
#include <cppless/fiber/promise.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/select.hpp>
#include <cppless/fiber/semaphore.hpp>
#include <cppless/fiber/shared_mutex.hpp>
#include <cppless/fiber/task_group.hpp>
#include <cppless/fiber/this_fiber.hpp>
