# kq_test(NAME [LABELS label...] [LIBRARIES lib...] [ALONE filter...] SOURCES x_test.cc...)
#
# Adds one GoogleTest program and one ctest test for the whole program, because a process for each of a thousand cases
# takes longer than the cases. ctest shows the output when the test fails.
#
# Each filter in ALONE makes a ctest test of its own, NAME.FILTER. Filters name cases that take seconds, so that other
# tests run meanwhile, and cases that some machines skip, so that ctest reports the skip.
function(kq_test name)
  cmake_parse_arguments(arg "" "" "LABELS;LIBRARIES;ALONE;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE kq_options ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  # Two fifths of all lines are tests. They compile faster with less optimization and without line tables; the libraries
  # are compiled as always.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-g0>)
  set(tests ${name})
  foreach(filter IN LISTS arg_ALONE)
    string(REGEX REPLACE "\\.\\*$" "" case ${name}.${filter})
    add_test(NAME ${case} COMMAND ${name} --gtest_filter=${filter})
    set_tests_properties(${case} PROPERTIES
      SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" FAIL_REGULAR_EXPRESSION "Running 0 tests")
    list(APPEND tests ${case})
  endforeach()
  if(arg_ALONE)
    list(JOIN arg_ALONE ":" others)
    add_test(NAME ${name} COMMAND ${name} --gtest_filter=-${others})
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  if(arg_LABELS)
    set_tests_properties(${tests} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()
