// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a program needs to send tasks elsewhere.

#include <cppless/aws_lambda.hpp>
#include <cppless/binary_archive.hpp>
#include <cppless/channel.hpp>
#include <cppless/config.hpp>
#include <cppless/detached.hpp>
#include <cppless/dispatch.hpp>
#include <cppless/dispatchers.hpp>
#include <cppless/errors.hpp>
#include <cppless/fiber_dispatcher.hpp>
#include <cppless/function.hpp>
#include <cppless/future.hpp>
#include <cppless/graph.hpp>
#include <cppless/instance.hpp>
#include <cppless/json_binary_archive.hpp>
#include <cppless/map.hpp>
#include <cppless/shared.hpp>
#include <cppless/shared_variable.hpp>
#include <cppless/statistics.hpp>
#include <cppless/task.hpp>
