# SPDX-License-Identifier: Apache-2.0
# Install rules: include/cppless, libcppless, libcppless_main.a, the plugin, and the CMake package.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cppless)
set(plugin_dir ${CMAKE_INSTALL_LIBDIR}/cppless)

install(TARGETS cppless cppless_main cppless_function_main cppless_any_function_main EXPORT cppless_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/library/include/cppless
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT cppless_targets NAMESPACE cppless:: DESTINATION ${package_dir})

set(CPPLESS_PACKAGE_CLI ${CMAKE_INSTALL_DATADIR}/cppless/cli/cppless)
set(CPPLESS_PACKAGE_PLUGIN "")
if(TARGET cppless_plugin)
  install(FILES $<TARGET_FILE:cppless_plugin> DESTINATION ${plugin_dir} RENAME cppless-plugin.so
          PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                      WORLD_READ WORLD_EXECUTE)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/plugin/driver/cppless++
          DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(CPPLESS_PACKAGE_PLUGIN ${plugin_dir}/cppless-plugin.so)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cppless-config.cmake.in
                              ${PROJECT_BINARY_DIR}/cppless-config.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cppless-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cppless-config.cmake
              ${PROJECT_BINARY_DIR}/cppless-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/CpplessDependencies.cmake
              ${CMAKE_CURRENT_LIST_DIR}/CpplessLambda.cmake
              ${CMAKE_CURRENT_LIST_DIR}/CpplessPlugin.cmake
        DESTINATION ${package_dir})

# What CpplessLambda.cmake runs: cli/ finds tools/setup by its place.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cli/cppless DESTINATION ${CMAKE_INSTALL_DATADIR}/cppless/cli
        FILES_MATCHING PATTERN "*.py" PATTERN "*.html")
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/setup DESTINATION ${CMAKE_INSTALL_DATADIR}/cppless/tools)

install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/cppless_fibers.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cppless/gdb)
