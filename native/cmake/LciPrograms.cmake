# SPDX-License-Identifier: Apache-2.0
# Every bench/*.cpp and tools/*.c is a program of that name.
find_package(benchmark QUIET)

file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*.cpp)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  file(STRINGS ${source} uses_benchmark REGEX "#include <benchmark/benchmark.h>")
  if(uses_benchmark AND NOT benchmark_FOUND)
    message(STATUS "LCI: Google Benchmark not found (Debian: libbenchmark-dev): no ${name}")
    continue()
  endif()
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE lci_core)
  if(uses_benchmark)
    target_link_libraries(${name} PRIVATE benchmark::benchmark)
  endif()
endforeach()

file(GLOB tool_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tools/*.c)
foreach(source ${tool_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE lci_compile)
endforeach()

if(BUILD_TESTING AND TARGET lci_info AND TARGET lci)
  add_test(NAME lci_info COMMAND lci_info $<TARGET_FILE:lci>)
  add_test(NAME lci_info_verbose COMMAND lci_info -v $<TARGET_FILE:lci>)
  set_tests_properties(lci_info PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "\nbuilt +[0-9]" FAIL_REGULAR_EXPRESSION
                                           "\nbuild type")
  set_tests_properties(lci_info_verbose PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "\nbuild type +[A-Z]")
endif()
