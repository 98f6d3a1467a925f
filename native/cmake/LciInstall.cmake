# SPDX-License-Identifier: Apache-2.0
# cmake --install BUILD --prefix FOLDER: header, library, and how CMake (find_package(lci)) and pkg-config find them.
if(NOT TARGET lci)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/include/lci/lci.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lci)
install(TARGETS lci EXPORT lci-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT lci-targets NAMESPACE lci:: FILE lci-config.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lci)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lci-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lci-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lci)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/lci.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lci.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lci.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
