# Tests come in three tiers, which ctest knows as labels: `fast` is what scripts/test.sh runs, `full` what it runs with --full
# and CI always, `nightly` what scripts/nightly.sh adds. A case of Catch2's says its own by a tag, [full] or [nightly]; without
# one it is fast.
set(RLDP_TIERS fast full nightly)

# The target tests_TIER builds what the entries of a tier need.
foreach(tier ${RLDP_TIERS})
  add_custom_target(tests_${tier})
endforeach()

# rldp_entry(NAME TIER [NEEDS targets…] COMMAND …): one entry of ctest.
function(rldp_entry name tier)
  cmake_parse_arguments(ARG "" "" "NEEDS;COMMAND" ${ARGN})
  if(NOT tier IN_LIST RLDP_TIERS)
    message(FATAL_ERROR "${name}: '${tier}' is not one of ${RLDP_TIERS}")
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # One thread each: some fork the program, whose child would wait for a pool of OpenMP's that only its parent has. No time limit
  # that a busy machine or a sanitizer could reach.
  set_tests_properties(${name} PROPERTIES LABELS ${tier} ENVIRONMENT OMP_NUM_THREADS=1 TIMEOUT 14400)
  if(ARG_NEEDS)
    add_dependencies(tests_${tier} ${ARG_NEEDS})
  endif()
endfunction()

# rldp_test(NAME [TORCH] SOURCES a.cpp… [DEPENDS targets…]): a Catch2 program; an entry NAME/FILE runs what a file has of a tier
# in one process. tests/every_case_runs.py compares the entries with what the programs hold.
function(rldp_test name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${RLDP_WARNINGS})
  rldp_compile_together(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} rldp_test_main)
  if(ARG_TORCH)
    target_link_libraries(${name} PRIVATE rldp_torch CAF::core)
    rldp_use_openmp_blas(${name})
    rldp_reuse_precompiled(${name} rldp_pch_torch)
  else()
    rldp_reuse_precompiled(${name} rldp_pch_base)
  endif()
  set(tiers "")
  foreach(source ${ARG_SOURCES})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    file(READ ${source} text)
    string(REGEX MATCHALL "\n *TEST_CASE(_METHOD)?\\(" cases "\n${text}")
    list(LENGTH cases untagged)
    if(untagged EQUAL 0)
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})  # a new tag is a new entry
    cmake_path(GET source STEM file)
    foreach(tier full nightly)
      string(REGEX MATCHALL "\"[^\"\n]*\\[${tier}\\][^\"\n]*\"\\)" tagged "${text}")
      list(LENGTH tagged count)
      if(count GREATER 0)
        rldp_catch_entry("${name}/${file} ${tier}" ${tier} ${name} "[#${file}][${tier}]")
        math(EXPR untagged "${untagged} - ${count}")
        list(APPEND tiers ${tier})
      endif()
    endforeach()
    if(untagged GREATER 0)
      rldp_catch_entry("${name}/${file}" fast ${name} "[#${file}]~[full]~[nightly]")
      list(APPEND tiers fast)
    endif()
  endforeach()
  foreach(tier ${RLDP_TIERS})  # the first tier for which it is built
    if(tier IN_LIST tiers)
      set_property(GLOBAL APPEND PROPERTY RLDP_TEST_PROGRAMS_${tier} ${name})
      break()
    endif()
  endforeach()
endfunction()

# rldp_catch_entry(NAME TIER PROGRAM FILTER): those cases of a program that the filter names.
function(rldp_catch_entry entry tier program filter)
  rldp_entry(${entry} ${tier} NEEDS ${program} COMMAND ${program} -\# ${filter})
  # Catch2 2 exits with 0 where a filter matches no case: such an entry must fail.
  set_tests_properties(${entry} PROPERTIES FAIL_REGULAR_EXPRESSION "No tests ran")
endfunction()
