#pragma once
#ifdef NEVER
#include <never>
#endif
#include <future>
using result = std::shared_future<int>;
