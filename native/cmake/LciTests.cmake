# SPDX-License-Identifier: Apache-2.0
# lci_unit_tests, lci_stress_tests, lci_multiprocess_tests: one executable per folder of tests, one ctest entry per test.
find_package(GTest QUIET)
if(NOT GTest_FOUND)
  message(STATUS "LCI: GoogleTest not found (Debian: libgtest-dev): configured without tests")
  return()
endif()
include(GoogleTest)

function(lci_add_tests kind timeout)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/${kind}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(target lci_${kind}_tests)
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE lci_core GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${timeout} LABELS ${kind})
endfunction()

lci_add_tests(unit 60)
lci_add_tests(stress 120)
lci_add_tests(multiprocess 120)
