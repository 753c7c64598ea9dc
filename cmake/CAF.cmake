# Debian's and Ubuntu's libcaf-dev (0.17.6) ships no CMake package: declare CAF::core. CAF's network module is not used: what
# listens with its protocol can be ended by one packet (docs/privacy.md, §7).
find_path(CAF_INCLUDE_DIR caf/all.hpp REQUIRED)
find_package(Threads REQUIRED)
find_library(CAF_core_LIBRARY caf_core REQUIRED)
add_library(CAF::core UNKNOWN IMPORTED)
set_target_properties(CAF::core PROPERTIES
  IMPORTED_LOCATION "${CAF_core_LIBRARY}"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
  INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES Threads::Threads)
