# User-facing files besides the programs: completions, manual pages, Debian packages.
if(LENSLET_BUILD_APPS)
  lenslet_test(cli_description SOURCES packaging/cli_description_test.cpp DEPENDS lenslet_apps_common)
  set(programs "$<TARGET_FILE:lenslet_app>" "$<TARGET_FILE:lenslet_convbench>")
  foreach(name IN ITEMS bash_completion zsh_completion cli_pages)
    add_test(NAME ${name} COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/${name}_test.sh" ${programs})
    # Scripts and pages do not depend on the build, so only the main suite checks them.
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS tree)
  endforeach()
  if(NOT LENSLET_SANITIZE)
    # The CPU side; device code for one GPU; compressed device code for all (cmake/LensletTargets.cmake).
    set(largest_mb 10)
    if(LENSLET_COMPRESSES_DEVICE_CODE)
      set(largest_mb 25)
    elseif(LENSLET_HAS_CUDA)
      set(largest_mb 53)
    endif()
    add_test(NAME size_and_start COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/size_and_start_test.sh" ${programs}
             "$<TARGET_FILE:lenslet_shared>" ${largest_mb} "${PROJECT_SOURCE_DIR}/samples/digit_3_a.png" "${CMAKE_COMMAND}")
  endif()
  # Sanitized programs are not packaged.
  if(LENSLET_INSTALL AND NOT LENSLET_SANITIZE)
    add_test(NAME deb_package COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/check_deb.sh" "${PROJECT_BINARY_DIR}")
    set_tests_properties(deb_package PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()

lenslet_test_reads(deb_package cmake packaging)
