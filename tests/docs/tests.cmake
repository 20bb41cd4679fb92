# The statements of the documents.
lenslet_python_test(docs_checks_bite "${CMAKE_CURRENT_LIST_DIR}/docs_test.py")
set_tests_properties(docs_checks_bite PROPERTIES LABELS tree)
# Every public symbol has a comment.
add_test(NAME docs_api COMMAND "${PROJECT_SOURCE_DIR}/docs/api_reference.sh" "${PROJECT_BINARY_DIR}/docs")
set_tests_properties(docs_api PROPERTIES SKIP_RETURN_CODE 77 LABELS tree)
# Every block of shell commands of every document, run in a copy of the tree with small data.
if(TARGET lenslet_app)
  foreach(side "" _gpu)
    string(REPLACE "_" "--" option "${side}")
    lenslet_python_test(docs_commands${side} "${CMAKE_CURRENT_LIST_DIR}/run_commands.py" "${PROJECT_SOURCE_DIR}"
                        "$<TARGET_FILE_DIR:lenslet_app>" ${option})
  endforeach()
  lenslet_python_test(docs_result_files "${CMAKE_CURRENT_LIST_DIR}/result_files_test.py" "${PROJECT_SOURCE_DIR}"
                      "$<TARGET_FILE_DIR:lenslet_app>")
  # Documents do not depend on the build, so only the main suite runs them.
  set_tests_properties(docs_commands docs_result_files PROPERTIES LABELS tree)
  set_tests_properties(docs_commands_gpu PROPERTIES LABELS gpu)
endif()

lenslet_test_reads(docs_api docs/Doxyfile docs/doxygen_filter.awk api framework layers models)
lenslet_test_reads(docs_commands README.md CONTRIBUTING.md docs samples weights layers/conv/gpu/ladder/README.md)
