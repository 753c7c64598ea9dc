# The project's two kinds of targets. Sources and dependencies are always named, never globbed.

set(RLDP_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)

# One precompiled header for everything that includes torch (14 s per translation unit without it).
function(rldp_use_torch target)
  target_link_libraries(${target} PUBLIC rldp_torch)
  if(RLDP_PRECOMPILED_HEADERS)
    # The header was compiled with -fPIC; programs, which CMake compiles with -fPIE, must agree with it.
    target_compile_options(${target} PRIVATE -fPIC)
    target_precompile_headers(${target} REUSE_FROM rldp_torch_pch)
  endif()
endfunction()

# rldp_library(NAME [TORCH] SOURCES a.cpp… [DEPENDS targets…] [PRIVATE targets…])
function(rldp_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${RLDP_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  if(ARG_TORCH)
    rldp_use_torch(${name})
  endif()
endfunction()

# rldp_test(NAME [TORCH] SOURCES a.cpp… [DEPENDS targets…]): a Catch2 program; ctest runs its cases one by one.
function(rldp_test name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  # Tests spend their time in the libraries; a third of the compile time is saved.
  target_compile_options(${name} PRIVATE ${RLDP_WARNINGS} -O1)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} rldp_test_main)
  if(ARG_TORCH)
    rldp_use_torch(${name})
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
