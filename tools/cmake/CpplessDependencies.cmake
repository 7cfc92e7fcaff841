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

# For the lambda dispatcher. Linked as needed: a program that does not use it does not load them.
set(cppless_as_needed "")
if(NOT CPPLESS_FUNCTION_SIDE_ONLY)
  foreach(each "nghttp2;nghttp2/nghttp2.h;libnghttp2-dev" "ssl;openssl/ssl.h;libssl-dev"
               "crypto;openssl/sha.h;libssl-dev")
    list(GET each 0 library)
    list(GET each 1 header)
    list(GET each 2 package)
    string(TOUPPER ${library} upper)
    find_path(CPPLESS_${upper}_INCLUDE_DIR ${header})
    find_library(CPPLESS_${upper}_LIBRARY ${library})
    if(NOT CPPLESS_${upper}_INCLUDE_DIR OR NOT CPPLESS_${upper}_LIBRARY)
      message(FATAL_ERROR "cppless: ${header} or lib${library} not found: install ${package}, or set "
                          "CPPLESS_${upper}_INCLUDE_DIR and CPPLESS_${upper}_LIBRARY")
    endif()
    string(APPEND cppless_as_needed ",${CPPLESS_${upper}_LIBRARY}")
  endforeach()
endif()

add_library(cppless::dependencies INTERFACE IMPORTED GLOBAL)
target_link_libraries(cppless::dependencies INTERFACE Threads::Threads
                      "-Wl,--push-state,--as-needed${cppless_as_needed},--pop-state")
target_include_directories(cppless::dependencies SYSTEM INTERFACE
                           ${CPPLESS_CEREAL_INCLUDE_DIR} ${CPPLESS_BOOST_INCLUDE_DIR})
