# Result files read back, compared, and shown: the report's tests skip, with the reason, where Python or matplotlib is
# not installed.
if(LENSLET_BUILD_APPS)
  find_package(nlohmann_json REQUIRED)
  lenslet_test(result_reader SOURCES convbench/result_reader_test.cpp
               DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
  lenslet_test(compare SOURCES convbench/compare_test.cpp ../apps/convbench/compare.cpp
               DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
endif()
