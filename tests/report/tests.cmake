# Result files are read, compared and shown; the report's tests skip, with the reason, if Python or matplotlib is not
# installed.
if(LENSLET_BUILD_APPS)
  find_package(nlohmann_json REQUIRED)
  lenslet_test(result_reader SOURCES convbench/result_reader_test.cpp
               DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
  lenslet_test(compare SOURCES convbench/compare_test.cpp $<TARGET_OBJECTS:lenslet_convbench_compare>
               DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
  lenslet_test(report_page SOURCES convbench/report_page_test.cpp DEPENDS lenslet_apps_common)
endif()

lenslet_python_test(report "${CMAKE_CURRENT_LIST_DIR}/report_test.py")
set_tests_properties(report PROPERTIES LABELS tree)  # independent of the build, like the checks of the tree

lenslet_test_reads(report apps/report)
