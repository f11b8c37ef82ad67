# kq_test(NAME [LABELS label...] [LIBRARIES lib...] [ALONE filter...] SOURCES x_test.cc...): one GoogleTest program, and
# one test of ctest: a
# process for each of a thousand cases takes longer than the cases. What it prints is shown when it fails.
#
# Cases that a filter in ALONE names are a test of their own, NAME.FILTER: those that take seconds, so that others run
# meanwhile, and those
# that some machines have to skip, so that ctest says so.
function(kq_test name)
  cmake_parse_arguments(arg "" "" "LABELS;LIBRARIES;ALONE;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE kq_options ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
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
