lenslet_test(digit_image
  SOURCES models/plane_test.cpp models/digit_image_test.cpp models/image_dataset_test.cpp
  DEPENDS lenslet_digit_image lenslet_crafted_files)
lenslet_test(samples SOURCES models/samples_test.cpp DEPENDS lenslet_models lenslet_crafted_files)
lenslet_apps_test(onnx_checker "${CMAKE_CURRENT_LIST_DIR}/onnx/checker_test.py")
lenslet_test(onnx SOURCES models/onnx/reader_test.cpp models/onnx/lenet5_test.cpp
  models/onnx/import_test.cpp models/onnx/branches_test.cpp models/onnx/import_activations_test.cpp models/onnx/import_joins_test.cpp
  models/onnx/import_parts_test.cpp models/onnx/import_refusals_test.cpp models/onnx/files_test.cpp
  models/onnx/networks_test.cpp models/onnx/import_fixture.cpp
  SHARED models/onnx/evaluate.cpp models/onnx/evaluate_functions.cpp DEPENDS lenslet_models lenslet_crafted_files)
target_compile_definitions(test_onnx PRIVATE "LENSLET_NETWORKS=\"${CMAKE_CURRENT_LIST_DIR}/onnx/networks\"")
add_executable(onnx_run_models models/onnx/run_models.cpp)
target_link_libraries(onnx_run_models PRIVATE lenslet_options lenslet_api)
lenslet_apps_test(onnx_node_cases "${CMAKE_CURRENT_LIST_DIR}/onnx/node_cases_test.py" "$<TARGET_FILE:onnx_run_models>")
if(TARGET lenslet_app)
  lenslet_apps_test(onnx_networks "${CMAKE_CURRENT_LIST_DIR}/onnx/networks_test.py" "$<TARGET_FILE:onnx_run_models>"
    "$<TARGET_FILE:lenslet_app>")
endif()
lenslet_test(numbers
  SOURCES models/numbers_test.cpp models/number_signs_test.cpp
    models/number_retakes_test.cpp models/drawn_glyphs.cpp models/drawn_pictures.cpp
    models/number_pictures.cpp
  DEPENDS lenslet_api lenslet_crafted_files)
