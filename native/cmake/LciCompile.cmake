# SPDX-License-Identifier: Apache-2.0
# lci_compile: how everything is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# These come before the options of targets, so that a target may choose another optimization. [CMake]
set(optimization "-O3 -g -DNDEBUG")
if(LCI_SANITIZE)
  set(optimization "-O1 -g1")
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO ${optimization})
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO ${optimization})

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(lci_compile INTERFACE)
target_include_directories(lci_compile INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include ${core_folder})
target_link_libraries(lci_compile INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(
  lci_compile
  INTERFACE -Wall -Wextra -Werror -fno-omit-frame-pointer -fvisibility=hidden
            # No path of the build machine in binaries.
            -ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
            $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_compile_options(lci_compile INTERFACE -march=x86-64-v2)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarm of gcc 12 on "literal" + std::string (gcc bug 105651).
  target_compile_options(lci_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

if(LCI_TEST_CHECKS OR LCI_MUTATIONS)
  target_compile_definitions(lci_compile INTERFACE LCI_TEST_CHECKS=1)
endif()
if(LCI_MUTATIONS)
  # A faulty line may have two statements.
  target_compile_options(lci_compile INTERFACE -Wno-misleading-indentation)
endif()

if(LCI_SANITIZE)
  if(NOT LCI_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
    message(FATAL_ERROR "LCI_SANITIZE must be 'address,undefined' or 'thread', not '${LCI_SANITIZE}'")
  endif()
  target_compile_options(lci_compile INTERFACE -fsanitize=${LCI_SANITIZE} -fno-sanitize-recover=all -UNDEBUG)
  target_link_options(lci_compile INTERFACE -fsanitize=${LCI_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False alarms with address sanitizer, as in <regex> (gcc bug 105562).
    target_compile_options(lci_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  else()
    # As gcc says it.
    foreach(sanitizer address thread)
      if(LCI_SANITIZE MATCHES ${sanitizer})
        string(TOUPPER __SANITIZE_${sanitizer}__ name)
        target_compile_definitions(lci_compile INTERFACE ${name}=1)
      endif()
    endforeach()
  endif()
endif()

# A program in C. With a sanitizer it is linked as C++: the library that it loads needs all of what clang has for that.
function(lci_add_c_program name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE lci_compile)
  if(LCI_SANITIZE)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()
