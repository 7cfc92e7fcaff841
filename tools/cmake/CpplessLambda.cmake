# SPDX-License-Identifier: Apache-2.0
# Functions for AWS Lambda from a CMake target.
#
# aws_lambda_target(t)             `t` can call Lambda (aws_dispatcher, CPPLESS_DISPATCHER=lambda);
#                                  building `t_functions` packages each of its tasks:
#                                  t.functions/<prefix>-<identity>.zip and functions.json beside t
# aws_lambda_serverless_target(t)  the same, and `serverless_t` deploys them (credentials, region and
#                                  AWS_ENDPOINT_URL from the environment), `run_serverless_t` deploys
#                                  and runs t with its tasks there
#
# Call them once the target has its sources and libraries. Properties of the target, all optional:
# CPPLESS_FUNCTION_PREFIX (default: its name), CPPLESS_MEMORY (MB), CPPLESS_TIMEOUT (s), CPPLESS_ROLE.
# Functions are for the machine that the target is built for: for arm64, configure with a toolchain
# file and with CPPLESS_HOST_PROGRAM_t set to the same target built for this machine, whose list of
# tasks is the same. For smaller ones with musl, configure with CpplessMusl.cmake.
include_guard(GLOBAL)

function(aws_lambda_target target)
  get_target_property(done ${target} CPPLESS_FUNCTIONS)
  if(done)
    return()
  endif()
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  set(functions ${CMAKE_CURRENT_BINARY_DIR}/${target}.functions)
  set(link ${CMAKE_CURRENT_BINARY_DIR}/${target}.link.json)
  set_target_properties(${target} PROPERTIES CPPLESS_FUNCTIONS ${functions})
  # -fbinutils-version: then a linker can drop a function's exception tables with it.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections
                         $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fbinutils-version=2.36>)
  if(NOT CPPLESS_FUNCTION_SIDE_ONLY)
    target_link_options(${target} PRIVATE -Wl,-u,cppless_create_aws_instance)
  endif()
  # The very command that links the target, with all that its libraries want of it.
  set_target_properties(${target} PROPERTIES RULE_LAUNCH_LINK
    "\"${Python3_EXECUTABLE}\" \"${CPPLESS_CLI}\" record-link \"${link}\" --")
  cppless_function_prefix(${target} prefix)
  set(program $<TARGET_FILE:${target}>)
  if(CPPLESS_HOST_PROGRAM_${target})
    set(program ${CPPLESS_HOST_PROGRAM_${target}})
  endif()
  add_custom_command(
    OUTPUT ${functions}/functions.json
    COMMAND Python3::Interpreter ${CPPLESS_CLI} package-functions --program ${program}
            --link ${link} --directory ${CMAKE_BINARY_DIR} --prefix ${prefix} --output ${functions}
    DEPENDS ${target} $<TARGET_FILE:cppless::function_main>
    COMMENT "Packaging the functions of ${target}" VERBATIM)
  add_custom_target(${target}_functions DEPENDS ${functions}/functions.json)
endfunction()

function(aws_lambda_serverless_target target)
  aws_lambda_target(${target})
  get_target_property(functions ${target} CPPLESS_FUNCTIONS)
  cppless_function_prefix(${target} prefix)
  set(deploy Python3::Interpreter ${CPPLESS_CLI} deploy-functions ${functions} --yes)
  foreach(option memory timeout role)
    string(TOUPPER ${option} upper)
    get_target_property(value ${target} CPPLESS_${upper})
    if(value)
      list(APPEND deploy --${option} ${value})
    endif()
  endforeach()
  add_custom_target(serverless_${target} COMMAND ${deploy} DEPENDS ${functions}/functions.json
                    USES_TERMINAL VERBATIM)
  add_custom_target(run_serverless_${target}
    COMMAND ${CMAKE_COMMAND} -E env CPPLESS_DISPATCHER=lambda CPPLESS_FUNCTION_PREFIX=${prefix}
            $<TARGET_FILE:${target}> USES_TERMINAL VERBATIM)
  add_dependencies(run_serverless_${target} serverless_${target})
endfunction()

function(cppless_function_prefix target variable)
  get_target_property(prefix ${target} CPPLESS_FUNCTION_PREFIX)
  if(NOT prefix)
    set(prefix ${target})
  endif()
  set(${variable} ${prefix} PARENT_SCOPE)
endfunction()
