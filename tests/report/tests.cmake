# Result files read back, compared, and shown: the report's tests skip, with the reason, where Python or matplotlib is
# not installed.
if(LENSLET_BUILD_APPS)
  find_package(nlohmann_json REQUIRED)
  lenslet_test(result_reader SOURCES convbench/result_reader_test.cpp
               DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
  lenslet_test(compare SOURCES convbench/compare_test.cpp ../apps/convbench/compare.cpp
               DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
  lenslet_test(report_page SOURCES convbench/report_page_test.cpp DEPENDS lenslet_apps_common)
  target_compile_definitions(test_report_page PRIVATE LENSLET_BINARY_DIR="${PROJECT_BINARY_DIR}")
endif()

find_program(LENSLET_PYTHON python3)
mark_as_advanced(LENSLET_PYTHON)
if(LENSLET_PYTHON)
  add_test(NAME report COMMAND "${LENSLET_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/report_test.py")
  # Like the checks of the tree it does not depend on the build.
  set_tests_properties(report PROPERTIES SKIP_RETURN_CODE 77 LABELS tree)
endif()
