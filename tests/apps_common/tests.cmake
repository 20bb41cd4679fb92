# The code of the programs, called without running them.
if(LENSLET_BUILD_APPS)
  find_package(nlohmann_json REQUIRED)
  lenslet_test(eval_report SOURCES apps_common/eval_report_test.cpp DEPENDS lenslet_pictures)
  lenslet_test(logits_check SOURCES apps_common/logits_check_test.cpp
               SHARED lenet/fused_reference.cpp support/planted_faults.cpp DEPENDS lenslet_candidates)
  lenslet_test(stream_windows SOURCES apps_common/stream_windows_test.cpp DEPENDS lenslet_framework)
  lenslet_test(tune_why SOURCES apps_common/tune_why_test.cpp ../apps/lenslet/tune/tune_why.cpp
               DEPENDS lenslet_apps_common lenslet_framework)
  lenslet_test(apps_common
    SOURCES apps_common/attempt_test.cpp apps_common/ceilings_test.cpp apps_common/conditions_test.cpp
            apps_common/console_test.cpp apps_common/document_test.cpp apps_common/error_line_test.cpp
            apps_common/glossary_test.cpp apps_common/option_values_test.cpp apps_common/other_load_test.cpp
            apps_common/program_test.cpp
            apps_common/progress_test.cpp apps_common/result_file_test.cpp apps_common/table_test.cpp apps_common/text_test.cpp
            support/allocation_counter.cpp
    DEPENDS lenslet_apps_common lenslet_reference nlohmann_json::nlohmann_json)
endif()
