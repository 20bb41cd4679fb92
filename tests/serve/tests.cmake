if(LENSLET_BUILD_APPS)
  # The protocol, the batcher and the service, without sockets.
  lenslet_test(serve SOURCES serve/protocol_test.cpp serve/batcher_test.cpp serve/service_test.cpp serve/pass_split_test.cpp
               DEPENDS lenslet_serve nlohmann_json::nlohmann_json)
  # The model behind it.
  lenslet_test(serve_engine SOURCES serve/engine_test.cpp ../apps/lenslet/serve/engine.cpp
               ../apps/lenslet/serve/passes.cpp
               DEPENDS lenslet_serve lenslet_model_pages lenslet_reference nlohmann_json::nlohmann_json)
  if(TARGET lenslet_boost)
    lenslet_test(serve_http SOURCES serve/http_server_test.cpp support/allocation_counter.cpp DEPENDS lenslet_serve)
  endif()
  # The program on a socket. Its clients are Python's standard library.
  if(TARGET lenslet_boost)
    lenslet_python_test(serve_sockets "${CMAKE_CURRENT_LIST_DIR}/sockets_test.py" "$<TARGET_FILE:lenslet_app>"
                        "${PROJECT_SOURCE_DIR}/samples")
  else()
    lenslet_skipped_test(serve_sockets "this build has no Boost (./dev setup)")
  endif()
  if(LENSLET_HAS_CUDA AND TARGET lenslet_boost)
    lenslet_python_test(serve_gpu "${CMAKE_CURRENT_LIST_DIR}/gpu_test.py" "$<TARGET_FILE:lenslet_app>")
    set_tests_properties(serve_gpu PROPERTIES LABELS gpu)
  endif()
  lenslet_apps_test(serve_tritonclient "${CMAKE_CURRENT_LIST_DIR}/tritonclient_test.py" "$<TARGET_FILE:lenslet_app>")
  # A minute of half load, and 10,000 idle connections. tests/serve/soak_test.py has an option for the hour.
  if(TARGET lenslet_boost)
    lenslet_apps_test(serve_soak "${CMAKE_CURRENT_LIST_DIR}/soak_test.py" "$<TARGET_FILE:lenslet_app>")
    lenslet_apps_test(serve_load "${CMAKE_CURRENT_LIST_DIR}/load_test.py" "$<TARGET_FILE:lenslet_app>" "$<TARGET_FILE:beast_echo>")
  else()
    lenslet_skipped_test(serve_soak "this build has no Boost (./dev setup)")
    lenslet_skipped_test(serve_load "this build has no Boost (./dev setup)")
    set_tests_properties(serve_soak serve_load PROPERTIES LABELS apps)
  endif()
endif()

lenslet_test_reads(serve_gpu tests/support)
lenslet_test_reads(serve_load apps/lenslet/serve apps/peers)
lenslet_test_reads(serve_sockets apps/lenslet/serve samples)
lenslet_test_reads(serve_tritonclient apps/lenslet/serve)
