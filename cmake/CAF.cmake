# Debian's and Ubuntu's libcaf-dev (0.17.6) ships no CMake package: declare CAF::core and CAF::io.
find_path(CAF_INCLUDE_DIR caf/all.hpp REQUIRED)
find_package(Threads REQUIRED)
foreach(module core io)
  find_library(CAF_${module}_LIBRARY caf_${module} REQUIRED)
  add_library(CAF::${module} UNKNOWN IMPORTED)
  set_target_properties(CAF::${module} PROPERTIES
    IMPORTED_LOCATION "${CAF_${module}_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
    INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
endforeach()
set_property(TARGET CAF::core APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
set_property(TARGET CAF::io APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
