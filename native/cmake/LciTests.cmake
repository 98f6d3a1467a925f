# SPDX-License-Identifier: Apache-2.0
# lci_unit_tests, lci_conformance_tests, lci_stress_tests, lci_multiprocess_tests: one executable per folder of tests. A ctest entry is one
# test, or a share of those that take no longer than their program takes to start; reports/ENTRY.xml says how each of it ended.
# Unit tests that include nothing of the core run over the shared library as well: lci_shared_tests.
# With LCI_TEST_OBJECTS, the folder of another build with the same LCI_UNITY, the objects of tests that include nothing of the
# core are that build's.
# Every tests/c/*_test.c is a program over the shared library, and one entry; so is, without sanitizers, every fuzz target on its corpus.
find_package(GTest QUIET)
if(NOT GTest_FOUND)
  message(STATUS "LCI: GoogleTest not found (Debian: libgtest-dev): configured without tests")
  return()
endif()
include(GoogleTest)
set(compile_by ${CMAKE_CURRENT_SOURCE_DIR}/cmake/compile_by.sh)

file(GLOB rooms RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/src/*)
list(JOIN rooms "|" rooms)

# lci_patterns OUT FILE: the patterns of tests in FILE, a line each, as GoogleTest reads them.
function(lci_patterns out file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} patterns REGEX "^[^#]")
  list(TRANSFORM patterns REPLACE "\t.*" "")
  list(JOIN patterns ":" patterns)
  set(${out} "${patterns}" PARENT_SCOPE)
endfunction()
lci_patterns(with_threads tests/unit/with_threads.txt)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/thread_list_test.cpp PROPERTIES
                            COMPILE_DEFINITIONS "LCI_WITH_THREADS=\"${with_threads}\"")

# lci_leave_out_without_threads LIST: the files of unit tests in it that have none of those.
function(lci_leave_out_without_threads list)
  string(REGEX MATCHALL "[A-Za-z0-9]+[.]" suites "${with_threads}")
  list(TRANSFORM suites REPLACE "[.]" "")
  list(JOIN suites "|" suites)
  foreach(source ${${list}})
    file(STRINGS ${source} tests REGEX "^TEST(_F|_P)?\\(")
    file(STRINGS ${source} wanted REGEX "^TEST(_F|_P)?\\((${suites},|$)")
    if(tests AND NOT wanted)
      list(REMOVE_ITEM ${list} ${source})
    endif()
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# With LCI_TEST_COMPILER it compiles this target: clang takes a third of gcc's time.
function(lci_compile_fast target)
  if(LCI_TEST_COMPILER)
    set(launcher ${compile_by} ${CMAKE_CXX_COMPILER} ${LCI_TEST_COMPILER} ${CMAKE_CXX_COMPILER_LAUNCHER})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    target_compile_options(${target} PRIVATE -O0 -Wno-unknown-warning-option)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# How a target that has tests is compiled.
function(lci_compile_tests target kind)
  # What is tested is optimized, most tests are not much: they would take twice as long to compile.
  if(LCI_SANITIZE MATCHES "address" OR LCI_MUTATIONS OR (LCI_SANITIZE AND NOT kind STREQUAL "stress"))
    target_compile_options(${target} PRIVATE -O0)
  elseif(NOT LCI_SANITIZE AND NOT kind STREQUAL "stress")
    lci_compile_fast(${target})
  endif()
  # A third of their time to compile, each for itself. They include what they use nevertheless.
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(LENGTH sources count)
  if(count GREATER 2 AND NOT LCI_UNITY)
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <atomic> <functional> <memory> <random> <string> <thread> <vector>)
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/tests)
endfunction()

# lci_grouped OUT NAME SOURCE...: with LCI_UNITY, files that each include two dozen of these; else the sources. Tests have
# short names of their own in the same two namespaces. So a group first includes all that its files do, and then each of
# these where "lci" and "lci_test" are namespaces of its own, which see all of the real ones. A file that is no test, that
# replaces functions of the C library, or that has definitions for the compiler, is compiled alone.
set(lci_group_size 24)
function(lci_grouped out name)
  if(NOT LCI_UNITY)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(result "")
  set(together "")
  foreach(source ${ARGN})
    file(STRINGS ${source} replaces REGEX "^extern \"C\"")
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(replaces OR definitions OR NOT source MATCHES "_test.cpp$")
      list(APPEND result ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  list(LENGTH together count)
  math(EXPR groups "(${count} + ${lci_group_size} - 1) / ${lci_group_size}")
  set(group 0)
  while(group LESS groups)
    # Neighbours are alike: dealt out, they make groups that take equally long.
    set(includes "")
    set(parts "")
    set(number 0)
    foreach(source ${together})
      math(EXPR of "${number} % ${groups}")
      if(of EQUAL group)
        file(STRINGS ${source} lines REGEX "^#include")
        list(APPEND includes ${lines})
        set(parts "${parts}\
namespace lci_${number} { using namespace lci; }
namespace lci_test_${number} { using namespace lci_test; }
#define lci lci_${number}
#define lci_test lci_test_${number}
#include \"${source}\"
#undef lci
#undef lci_test
")
      endif()
      math(EXPR number "${number} + 1")
    endforeach()
    list(REMOVE_DUPLICATES includes)
    list(JOIN includes "\n" includes)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/grouped/${name}_${group}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes}\nnamespace lci {}\nnamespace lci_test {}\n${parts}" @ONLY)
    list(APPEND result ${file})
    math(EXPR group "${group} + 1")
  endwhile()
  # They say what is included first.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${together})
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# Those of SOURCES that include nothing of the core but, through tests/support, a few headers without a source, and do
# not say "Static core only".
function(lci_public_tests out)
  set(public "")
  foreach(source ${ARGN})
    file(STRINGS ${source} core REGEX "^(// Static core only|#include \"(${rooms}|support/(hostile_peer|played_rank))[/.])")
    if(NOT core)
      list(APPEND public ${source})
    endif()
  endforeach()
  set(${out} ${public} PARENT_SCOPE)
endfunction()

# OUT: the objects of SOURCES, which include nothing of the core, of this build or of the one in LCI_TEST_OBJECTS.
function(lci_public_objects out kind)
  set(target lci_${kind}_tests_public)
  if(NOT LCI_TEST_OBJECTS)
    lci_grouped(grouped ${target} ${ARGN})
    add_library(${target} OBJECT ${grouped})
    lci_compile_tests(${target} ${kind})
    target_link_libraries(${target} PUBLIC lci_compile GTest::gtest)
    set(${out} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
    return()
  endif()
  set(objects "")
  lci_grouped(grouped ${target} ${ARGN})
  foreach(source ${grouped})
    cmake_path(IS_PREFIX CMAKE_CURRENT_BINARY_DIR ${source} made)
    if(made)
      file(RELATIVE_PATH name ${CMAKE_CURRENT_BINARY_DIR} ${source})
    else()
      file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    endif()
    list(APPEND objects ${LCI_TEST_OBJECTS}/CMakeFiles/${target}.dir/${name}.o)
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# The tests in FOLDER tests/KIND, over the static core. The objects of public ones serve several programs.
function(lci_add_tests kind timeout)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/${kind}/*.cpp)
  if(NOT sources)
    return()
  endif()
  if(LCI_SANITIZE)
    list(FILTER sources EXCLUDE REGEX "/thread_list_test.cpp$")
  endif()
  if(LCI_SANITIZE STREQUAL "thread" AND kind STREQUAL "unit")
    lci_leave_out_without_threads(sources)
  endif()
  set(target lci_${kind}_tests)
  lci_public_tests(public ${sources})
  list(REMOVE_ITEM sources ${public})
  lci_public_objects(objects ${kind} ${public})
  if(kind STREQUAL "unit")
    set_property(GLOBAL APPEND PROPERTY lci_public_tests ${objects})
  endif()
  lci_grouped(grouped ${target} ${sources})
  add_executable(${target} ${grouped} ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  lci_compile_tests(${target} ${kind})
  target_link_libraries(${target} PRIVATE lci_core GTest::gtest GTest::gtest_main)
  if(kind STREQUAL "unit")
    set(filter "")
    if(LCI_SANITIZE STREQUAL "thread")
      set(filter "--gtest_filter=${with_threads}")
    endif()
    lci_add_shards(unit unit 32 ${timeout} ${target} "" ${filter})
    return()
  endif()
  if(kind STREQUAL "conformance")
    lci_add_rows(${timeout})
    return()
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${timeout} LABELS ${kind})
endfunction()

# Rows whose ranks are threads, and those whose ranks are processes: apart, for whoever forks pays for all the memory that tests
# before it have touched. Each stack from which something is allocated is a place in a table of the address sanitizer, of which a
# process copies page by page what it writes to: short ones are few. (Whoever looks for an error there has more by running the test
# by itself.) Processes of one thread each are nothing to the thread sanitizer.
function(lci_add_rows timeout)
  set(forking "*/processes2:*/processes4:*/rings2:*/tcp4:*/routed4")
  lci_add_shards(conformance conformance 24 ${timeout} lci_conformance_tests "" "--gtest_filter=-${forking}")
  if(NOT LCI_SANITIZE STREQUAL "thread")
    set(environment "")
    if(LCI_SANITIZE MATCHES "address")
      set(environment "ASAN_OPTIONS=malloc_context_size=3")
    endif()
    lci_add_shards(conformance_forking conformance 8 ${timeout} lci_conformance_tests "${environment}" "--gtest_filter=${forking}")
  endif()
endfunction()

# So many entries for a program of KIND, each of which runs its share of the tests, within TIMEOUT seconds; the program's arguments
# follow. They begin before others, which are short.
function(lci_add_shards name kind shards timeout program environment)
  math(EXPR last "${shards} - 1")
  list(APPEND environment GTEST_TOTAL_SHARDS=${shards})
  foreach(shard RANGE ${last})
    set(report ${CMAKE_CURRENT_BINARY_DIR}/reports/${name}_${shard}.xml)
    add_test(NAME ${name}_${shard} COMMAND ${program} ${ARGN})
    set_tests_properties(${name}_${shard} PROPERTIES TIMEOUT ${timeout} COST 1000 LABELS ${kind}
                         ENVIRONMENT "${environment};GTEST_SHARD_INDEX=${shard};GTEST_OUTPUT=xml:${report}")
  endforeach()
endfunction()

# Once more, with all ranks over TCP. Deaths are named fast: several tests make a bounded number of passes.
function(lci_add_over_tcp kind)
  if(LCI_SANITIZE OR LCI_MUTATIONS)
    return()
  endif()
  lci_patterns(left_out tests/${kind}/not_over_tcp.txt)
  lci_add_shards(${kind}_over_tcp ${kind} 4 600 lci_${kind}_tests "LCI_ATTR_TRANSPORT=tcp;LCI_ATTR_NET_RECONNECT_MS=300"
                 "--gtest_filter=-${left_out}")
endfunction()

lci_add_tests(unit 600)

# Libraries of PMIx that tests load from beside themselves; the older one lacks a function.
foreach(name fake_pmix fake_pmix_old)
  add_library(${name} MODULE tests/pmix/fake_pmix.cpp)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE lci_compile)
  lci_compile_tests(${name} unit)
  add_dependencies(lci_unit_tests ${name})
endforeach()
target_compile_definitions(fake_pmix PRIVATE FAKE_PMIX_FENCE)
lci_add_over_tcp(unit)
# Each test of these two has shorter deadlines of its own; in the soak some are given much more to do.
lci_add_tests(conformance 1200)
lci_add_tests(stress 900)
lci_add_tests(multiprocess 600)
lci_add_over_tcp(multiprocess)
if(NOT LCI_SANITIZE AND NOT LCI_MUTATIONS)
  lci_add_shards(multiprocess_routed multiprocess 4 600 lci_multiprocess_tests LCI_ATTR_RANKS_PER_HOST=2
                 --gtest_filter=-RmaJob.ARankMayReserveMoreThanTheOthers)
endif()

# What is shipped is linked in another way than the core in the programs above: its own C++ library, hidden symbols.
# Those of tests/shared run over it alone.
if(TARGET lci AND NOT LCI_SANITIZE)
  get_property(public GLOBAL PROPERTY lci_public_tests)
  file(GLOB shared_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/shared/*.cpp)
  lci_grouped(grouped lci_shared_tests ${shared_sources})
  add_executable(lci_shared_tests ${grouped} ${public})
  lci_compile_tests(lci_shared_tests shared)
  target_link_libraries(lci_shared_tests PRIVATE lci lci_compile GTest::gtest GTest::gtest_main)
  lci_add_shards(shared unit 6 600 lci_shared_tests "")
endif()

file(GLOB c_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/c/*_test.c)
foreach(source ${c_sources})
  get_filename_component(name ${source} NAME_WE)
  lci_add_c_program(${name} ${source})
  target_compile_options(${name} PRIVATE -pedantic)
  target_link_libraries(${name} PRIVATE lci)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS unit)
endforeach()

# Under sanitizers suite fuzz begins with them.
if(NOT LCI_SANITIZE)
  file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
  add_library(lci_replay OBJECT tests/fuzz/replay.cpp)
  target_link_libraries(lci_replay PRIVATE lci_compile)
  lci_compile_tests(lci_replay unit)
  foreach(source ${fuzz_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name}_replay ${source} $<TARGET_OBJECTS:lci_replay>)
    lci_compile_tests(${name}_replay unit)
    target_link_libraries(${name}_replay PRIVATE lci_core GTest::gtest)
    add_test(NAME ${name} COMMAND ${name}_replay ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus/${name}.hex)
    set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS unit)
  endforeach()
endif()

# Those that are a job of 4 ranks, on this host and by two agents, which are on it as well.
file(GLOB c_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/c/*_job.c)
foreach(source ${c_sources})
  get_filename_component(name ${source} NAME_WE)
  lci_add_c_program(${name} ${source})
  target_compile_options(${name} PRIVATE -pedantic)
  target_link_libraries(${name} PRIVATE lci)
  add_test(NAME ${name} COMMAND lci_run -n 4 $<TARGET_FILE:${name}>)
  add_test(NAME ${name}_by_agents COMMAND lci_run --hosts localhost,localhost --launch-agent "env HOST={}" -n 4
                                          $<TARGET_FILE:${name}>)
  set_tests_properties(${name} ${name}_by_agents PROPERTIES TIMEOUT 120 LABELS multiprocess)
endforeach()

# Those who listen to a job of net_test.sh, or call its ranks, and are none of it.
foreach(name net_eavesdropper net_stranger)
  lci_add_c_program(${name} ${CMAKE_CURRENT_SOURCE_DIR}/tests/c/${name}.c)
  target_compile_options(${name} PRIVATE -pedantic)
endforeach()

# A build that has lost its sanitizer would pass all tests.
if(LCI_SANITIZE)
  add_executable(deliberate_error tests/sanitizer/deliberate_error.cpp)
  target_link_libraries(deliberate_error PRIVATE lci_compile)
  string(REPLACE "," ";" sanitizers ${LCI_SANITIZE})
  set(address_report "ERROR: AddressSanitizer: heap-use-after-free")
  set(undefined_report "runtime error: signed integer overflow")
  set(thread_report "WARNING: ThreadSanitizer: data race")
  foreach(sanitizer ${sanitizers})
    add_test(NAME ${sanitizer}_sanitizer_reports COMMAND deliberate_error ${sanitizer})
    set_tests_properties(${sanitizer}_sanitizer_reports PROPERTIES TIMEOUT 60 LABELS unit
                         PASS_REGULAR_EXPRESSION ${${sanitizer}_report})
  endforeach()
endif()

# Jobs of many ranks: fewer where each costs much more.
set(many_ranks 256)
if(LCI_SANITIZE)
  set(many_ranks 32)
endif()
add_test(NAME many_ranks COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/c/join_test.sh $<TARGET_FILE:lci_run> $<TARGET_FILE:join_job> ${many_ranks})
set_tests_properties(many_ranks PROPERTIES TIMEOUT 300 LABELS multiprocess RUN_SERIAL ON)

add_test(NAME launchers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/tools/launchers_test.sh $<TARGET_FILE:join_job> $<TARGET_FILE:reopen_job>)
set_tests_properties(launchers PROPERTIES TIMEOUT 300 LABELS multiprocess)
