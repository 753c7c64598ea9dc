# The project's two kinds of targets. Sources and dependencies are always named, never globbed.

set(RLDP_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC sees overruns where none are: in strings that are moved (its bug 105329); from 13 on in a vector<bool> of torch's headers.
  list(APPEND RLDP_WARNINGS -Wno-array-bounds -Wno-restrict)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    list(APPEND RLDP_WARNINGS -Wno-stringop-overflow)
  endif()
  # From 16 on a copied std::function of a lambda that captures nothing counts as uninitialised.
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 16)
    list(APPEND RLDP_WARNINGS -Wno-maybe-uninitialized)
  endif()
else()
  # Sources are joined before they are compiled, and to clang a local that is named like another source's constant shadows it.
  list(APPEND RLDP_WARNINGS -Wno-shadow)
endif()

# Where the time of a run is spent in code of ours (HOT) the compiler optimises as the build type says. What calls LibTorch, and
# commands, pages, JSON and messages, take half as long to compile with -Og and run as fast (research/performance.md). Under it GCC
# sees uninitialised values where none are.
set(RLDP_COLD_OPTIONS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(RLDP_COLD_OPTIONS $<$<CONFIG:Release>:-Og> $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
  # It would collect its garbage from 100 MB on, again and again; a source of ours takes a gigabyte at most.
  add_compile_options(--param=ggc-min-expand=400 --param=ggc-min-heapsize=600000)
endif()

# Precompiled headers, one for each kind of source: parsing ATen takes 9 s, CAF and JSON 2 s each. Tests share them. Sources
# include what they use all the same.
set(RLDP_BASE_HEADERS <nlohmann/json.hpp> <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <chrono> <cmath> <filesystem> <fstream>
  <functional> <map> <memory> <optional> <set> <span> <sstream> <string> <string_view> <vector>)
set(RLDP_BASE_LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)

# rldp_precompiled(NAME [HOT] HEADERS … [DEPENDS targets…]). GCC wants a header compiled as what uses it: a hot source crashes it
# with a cold header.
function(rldp_precompiled name)
  cmake_parse_arguments(ARG "HOT" "" "HEADERS;DEPENDS" ${ARGN})
  if(RLDP_PRECOMPILED_HEADERS)
    add_library(${name} STATIC ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${name} PRIVATE ${RLDP_WARNINGS})
    if(NOT ARG_HOT)
      target_compile_options(${name} PRIVATE ${RLDP_COLD_OPTIONS})
    endif()
    target_link_libraries(${name} PUBLIC ${RLDP_BASE_LIBRARIES} ${ARG_DEPENDS})
    target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  endif()
endfunction()

# Cold, unless the header is hot.
function(rldp_reuse_precompiled target name)
  if(NOT name MATCHES "_hot_")
    target_compile_options(${target} PRIVATE ${RLDP_COLD_OPTIONS})
  endif()
  if(RLDP_PRECOMPILED_HEADERS)
    # The header was compiled with -fPIC; programs, which CMake compiles with -fPIE, must agree with it.
    target_compile_options(${target} PRIVATE -fPIC)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# OpenBLAS exists with threads of its own and with OpenMP's, which LibTorch runs on too. Two pools of threads fight for the
# processors (a GPT-2 step takes 1.7 times as long), so programs look for the OpenMP build first, whatever the system's
# alternative for libblas is. RPATH, not RUNPATH: it is LibTorch that asks for the library.
find_library(RLDP_OPENMP_BLAS libblas.so.3 PATH_SUFFIXES openblas-openmp NO_DEFAULT_PATH
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib)
function(rldp_use_openmp_blas target)
  if(RLDP_OPENMP_BLAS)
    cmake_path(GET RLDP_OPENMP_BLAS PARENT_PATH directory)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH ${directory})
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${directory})
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  endif()
endfunction()

# Two dozen sources at a time: templates of JSON, CAF and CLI11 are instantiated once, not in each, and a precompiled header of
# torch's is read once (two seconds).
function(rldp_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RLDP_UNITY} UNITY_BUILD_BATCH_SIZE 24)
endfunction()

# Definitions among the program's own objects come before those of libraries, whose objects may hold others that are needed.
function(rldp_own_definitions_first target)
  target_link_options(${target} PRIVATE -Wl,-z,muldefs)
endfunction()

# rldp_library(NAME [TORCH|CAF] [HOT] SOURCES a.cpp… [DEPENDS targets…] [PRIVATE targets…]): all have fmt and JSON.
function(rldp_library name)
  cmake_parse_arguments(ARG "TORCH;CAF;HOT" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${RLDP_WARNINGS})
  rldp_compile_together(${name})
  target_link_libraries(${name} PUBLIC ${RLDP_BASE_LIBRARIES} ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  if(ARG_CAF)
    target_link_libraries(${name} PUBLIC CAF::core)
  endif()
  if(ARG_TORCH OR ARG_CAF)
    target_link_libraries(${name} PUBLIC rldp_torch)
    if(NOT ARG_HOT)  # the one that is hot reads ATen sooner than a header of its own would be compiled
      rldp_reuse_precompiled(${name} rldp_pch_torch)
    endif()
  elseif(ARG_HOT)
    rldp_reuse_precompiled(${name} rldp_pch_hot_base)
  else()
    rldp_reuse_precompiled(${name} rldp_pch_base)
  endif()
endfunction()

# rldp_embed(TARGET NAME FILE): the file's bytes become part of the target, as `const std::string_view rldp::embedded::NAME`, at
# 64-byte alignment.
function(rldp_embed target name file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  add_custom_command(OUTPUT ${source} DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM
    COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${source} -DNAME=${name} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# As rldp_embed, compressed by gzip.
function(rldp_embed_compressed target name file)
  find_program(GZIP_PROGRAM gzip REQUIRED)
  set(packed ${CMAKE_CURRENT_BINARY_DIR}/${name}.gz)
  add_custom_command(OUTPUT ${packed} DEPENDS ${file} COMMAND ${GZIP_PROGRAM} -9nc ${file} > ${packed})
  rldp_embed(${target} ${name} ${packed})
endfunction()

# Hot sources of a cold room. They read no precompiled header, and so include little.
function(rldp_hot)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
endfunction()

# Loops of the directory's target that must vectorise and give the same bits on every processor: square roots without errno, no
# contraction to fused multiply-adds, O3 also in debug builds. They include nothing of torch's.
function(rldp_vectorised)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-O3;-fno-math-errno;-fno-trapping-math;-ffp-contract=off")
endfunction()
