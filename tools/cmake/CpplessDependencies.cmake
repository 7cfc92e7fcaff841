# SPDX-License-Identifier: Apache-2.0
# Defines cppless::dependencies: what cppless's public headers need. Used by our own build and by the
# installed package alike, so both find the same things and complain in the same words.
include_guard(GLOBAL)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_path(CPPLESS_CEREAL_INCLUDE_DIR cereal/cereal.hpp)
find_path(CPPLESS_BOOST_INCLUDE_DIR boost/pfr.hpp)
if(NOT CPPLESS_CEREAL_INCLUDE_DIR)
  message(FATAL_ERROR "cppless: cereal/cereal.hpp not found: install libcereal-dev, "
                      "or set CPPLESS_CEREAL_INCLUDE_DIR to the directory that holds cereal/")
endif()
if(NOT CPPLESS_BOOST_INCLUDE_DIR)
  message(FATAL_ERROR "cppless: boost/pfr.hpp (Boost 1.75 or newer) not found: install "
                      "libboost1.81-dev, or set CPPLESS_BOOST_INCLUDE_DIR to the directory that holds boost/")
endif()

add_library(cppless::dependencies INTERFACE IMPORTED GLOBAL)
target_link_libraries(cppless::dependencies INTERFACE Threads::Threads)
target_include_directories(cppless::dependencies SYSTEM INTERFACE
                           ${CPPLESS_CEREAL_INCLUDE_DIR} ${CPPLESS_BOOST_INCLUDE_DIR})
