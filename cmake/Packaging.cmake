# What `cmake --install` puts where, and the Debian package: cpack -G DEB in the build directory. The component program is all that a
# wheel takes.
if(RLDP_TEST_HOOKS)
  install(CODE "message(FATAL_ERROR \"a build with RLDP_TEST_HOOKS must not be installed\")")
  return()
endif()

install(TARGETS rldp RUNTIME DESTINATION bin COMPONENT program)
install(TARGETS rldp-torch RUNTIME DESTINATION lib/rldp COMPONENT program)
# Presets name their templates and the demo's model beside them; those on stories260K name files outside, and are left out.
install(DIRECTORY config/ DESTINATION share/rldp/config COMPONENT program
  FILES_MATCHING PATTERN "*.json" PATTERN "canary-prompt.txt" PATTERN "*.safetensors"
  PATTERN "base" EXCLUDE PATTERN "*-stories260k.json" EXCLUDE PATTERN "arena-*.json" EXCLUDE)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION share/doc/rldp)
install(FILES LICENSE DESTINATION share/doc/rldp RENAME copyright)
# Pages for users. Notebooks, protocols and evidence stay in research/, which is not installed.
install(DIRECTORY docs/ DESTINATION share/doc/rldp/docs)
# Man pages and the completion are what the program says of itself.
set(manual ${PROJECT_BINARY_DIR}/manual)
install(CODE "execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/manual.sh $<TARGET_FILE:rldp> ${manual} COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${manual}/man1 DESTINATION share/man)
install(FILES ${manual}/completions/rldp DESTINATION share/bash-completion/completions)

set(CPACK_PACKAGE_NAME rldp)
set(CPACK_PACKAGE_CONTACT "The RLDP authors <authors@rldp.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "private fine-tuning of language models under an (epsilon, delta) contract")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Reports draw with gnuplot; LibTorch runs fastest on the OpenMP build of OpenBLAS, which the program looks for first.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, libopenblas0-openmp")
include(CPack)
