#pragma once
#ifdef NEVER
#include <never>
#endif
#include <future>
#include <cppless/fiber.hpp>
using result = cppless::fiber::shared_future<int>;
