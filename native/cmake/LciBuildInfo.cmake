# SPDX-License-Identifier: Apache-2.0
# build_info.hpp, for lci_info(). Made when CMake configures; the time changes only when something else does, so that
# nothing is built again for its sake. SOURCE_DATE_EPOCH sets it.
find_package(Git QUIET)
set(build_commit unknown)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=40 --exclude=*
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE described
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(build_commit ${described})
  endif()
endif()
set(build_sanitizers none)
if(LCI_SANITIZE)
  set(build_sanitizers ${LCI_SANITIZE})
endif()

set(build_info_folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(written "")
if(EXISTS ${build_info_folder}/build_info.hpp)
  file(READ ${build_info_folder}/build_info.hpp written)
  string(REGEX MATCH "kBuildTime\\[\\] = \"([^\"]*)\"" ignored "${written}")
  set(build_time ${CMAKE_MATCH_1})
endif()
set(template ${CMAKE_CURRENT_SOURCE_DIR}/cmake/build_info.hpp.in)
file(READ ${template} wanted)
string(CONFIGURE "${wanted}" wanted @ONLY)
if(NOT wanted STREQUAL written)
  string(TIMESTAMP build_time "%Y-%m-%dT%H:%M:%SZ" UTC)
  configure_file(${template} ${build_info_folder}/build_info.hpp @ONLY)
endif()
