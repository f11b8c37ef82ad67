# The files of which kq-report makes pages, in share/kq/report of the build: those of share/report, and the libraries
# that the pages hold. Packages bring the libraries: vl-convert-python (PyPI) has Vega, node-prismjs (Debian) has Prism.
# Without one of them pages lack plots, or the colours of sources.
set(report_files ${CMAKE_BINARY_DIR}/share/kq/report)
foreach(name common.js job.js live.js plots.json render.py report.js style.css tables.js vega.notice.txt)
  configure_file(${CMAKE_SOURCE_DIR}/share/report/${name} ${report_files}/${name} COPYONLY)
endforeach()

find_path(KQ_PRISM prism-python.min.js PATHS /usr/share/nodejs/prismjs/components NO_DEFAULT_PATH)
if(KQ_PRISM)
  file(READ ${CMAKE_SOURCE_DIR}/share/report/prism.notice.txt notice)
  set(text "/*!\n${notice}*/\nwindow.Prism = {manual: true};\n")
  foreach(part core clike c cpp python)
    file(READ ${KQ_PRISM}/prism-${part}.min.js code)
    string(APPEND text "${code}\n")
  endforeach()
  file(WRITE ${report_files}/prism.js "${text}")
else()
  message(STATUS "no node-prismjs: sources in reports have no colours")
endif()

foreach(python ${KQ_TEST_PYTHON} ${CMAKE_SOURCE_DIR}/.venv/bin/python python3)
  execute_process(COMMAND ${python} -c "import vl_convert" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(result EQUAL 0)
    set(KQ_PLOT_PYTHON ${python})
    break()
  endif()
endforeach()
if(KQ_PLOT_PYTHON)
  add_custom_command(OUTPUT ${report_files}/vega.js
    COMMAND ${KQ_PLOT_PYTHON} ${CMAKE_SOURCE_DIR}/share/report/render.py bundle ${report_files}/vega.js
    DEPENDS ${CMAKE_SOURCE_DIR}/share/report/render.py ${CMAKE_SOURCE_DIR}/share/report/vega.notice.txt VERBATIM)
  add_custom_target(kq_report_files DEPENDS ${report_files}/vega.js)
else()
  add_custom_target(kq_report_files)
  message(STATUS "no vl-convert-python: reports have no plots")
endif()
