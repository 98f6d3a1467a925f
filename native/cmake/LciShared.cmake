# SPDX-License-Identifier: Apache-2.0
# liblci.so: exports lci_* only, and needs at load nothing but the C library and libgcc_s, so that one file runs
# everywhere. The C++ library is inside. The unwinder is not: an exception of a program's function is caught here, so
# whoever throws and whoever catches must share one.
file(GLOB api_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/api/*.cpp)
if(NOT api_sources)
  message(STATUS "LCI: src/api is missing: no shared library")
  return()
endif()

set(version_script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/lci.map)
add_library(lci SHARED $<TARGET_OBJECTS:lci_objects>)
target_link_libraries(lci PRIVATE lci_compile)
add_library(lci::lci ALIAS lci)
target_include_directories(lci INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                         $<INSTALL_INTERFACE:include>)
target_link_options(lci PRIVATE -Wl,--version-script=${version_script} -Wl,--as-needed -Wl,--build-id)
set_target_properties(lci PROPERTIES LINK_DEPENDS ${version_script})
if(NOT LCI_SANITIZE)
  target_link_options(lci PRIVATE -static-libstdc++ -shared-libgcc -Wl,-z,defs)
endif()

if(BUILD_TESTING AND PROJECT_IS_TOP_LEVEL)
  add_test(NAME symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_symbols.sh ${CMAKE_CURRENT_SOURCE_DIR}/include/lci/lci.h
                                $<TARGET_FILE:lci> "${LCI_SANITIZE}")
endif()
