# SPDX-License-Identifier: Apache-2.0
# core_folder: where the sources of the core lie. With LCI_MUTATIONS it is a copy with deliberate faults in it, which
# tests/mutations/faults.sh makes, again whenever a source or a table of faults changes.
if(NOT LCI_MUTATIONS)
  set(core_folder ${CMAKE_CURRENT_SOURCE_DIR}/src)
  return()
endif()

file(GLOB_RECURSE originals CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/* ${CMAKE_CURRENT_SOURCE_DIR}/tests/mutations/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${originals})
execute_process(COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/mutations/faults.sh copy ${CMAKE_BINARY_DIR}/faulty RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "LCI: native/tests/mutations/faults.sh copy failed: a table of faults and the sources differ")
endif()
set(core_folder ${CMAKE_BINARY_DIR}/faulty/src)
