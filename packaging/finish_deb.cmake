# CPack runs this between installing into its folder and packing. It gives the files the form that Debian's policy
# requires and finds the dependencies. Those of programs and shared library become Depends. Those of the modules do not:
# a module that cannot be opened only makes its own backends unavailable, with the reason. Recommends gets the module's
# libraries that Debian has.
find_program(gzip gzip REQUIRED)
find_program(shlibdeps dpkg-shlibdeps)
find_program(git git)
if(NOT shlibdeps)
  message(FATAL_ERROR "dpkg-shlibdeps, which finds a package's dependencies, is missing: install dpkg-dev")
endif()
set(runtime "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/runtime")
set(development "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/development")
if(NOT EXISTS "${runtime}/usr/bin/lenslet")
  message(FATAL_ERROR "There is no usr/bin/lenslet in ${runtime}: was everything built?")
endif()

# Documents: compressed, without a timestamp, so that two runs give the same bytes, and in Debian's folder.
file(GLOB manuals "${runtime}/usr/share/man/man1/*.1")
file(RENAME "${runtime}/usr/share/zsh/site-functions" "${runtime}/usr/share/zsh/vendor-completions")
file(REMOVE "${runtime}/usr/share/doc/lenslet/LICENSE")  # `copyright` names the file that has the text in Debian
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
execute_process(COMMAND "${git}" -C "${CPACK_LENSLET_SOURCE_DIR}" log -1 --format=%cD OUTPUT_VARIABLE committed
                RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT failed)
  set(date "${committed}")
endif()
set(compressed ${manuals})
foreach(package IN ITEMS lenslet liblenslet-dev)
  set(share "${runtime}/usr/share")
  if(package STREQUAL liblenslet-dev)
    set(share "${development}/usr/share")
  endif()
  file(COPY "${CMAKE_CURRENT_LIST_DIR}/copyright" DESTINATION "${share}/doc/${package}")
  file(COPY "${CMAKE_CURRENT_LIST_DIR}/${package}.lintian-overrides" DESTINATION "${share}/lintian/overrides")
  file(RENAME "${share}/lintian/overrides/${package}.lintian-overrides" "${share}/lintian/overrides/${package}")
  file(WRITE "${share}/doc/${package}/changelog" "lenslet (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
       "  * Version ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  list(APPEND compressed "${share}/doc/${package}/changelog")
endforeach()
execute_process(COMMAND "${gzip}" -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)

# Readable for all users, whatever the packager's umask; libraries are not executable.
set(for_all OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
foreach(package IN ITEMS "${runtime}" "${development}")
  file(GLOB_RECURSE paths LIST_DIRECTORIES true "${package}/*")
  foreach(path IN LISTS paths)
    if(IS_SYMLINK "${path}")
      continue()
    elseif(IS_DIRECTORY "${path}" OR path MATCHES "/usr/bin/")
      file(CHMOD "${path}" PERMISSIONS ${for_all} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
    else()
      file(CHMOD "${path}" PERMISSIONS ${for_all})
    endif()
  endforeach()
endforeach()

# dependencies(<result> <files…>): the dependencies by dpkg-shlibdeps, which must run in a source package.
set(shlibdeps_dir "${CPACK_TEMPORARY_DIRECTORY}/shlibdeps")
file(WRITE "${shlibdeps_dir}/debian/control" "Source: lenslet\n\nPackage: lenslet\nArchitecture: any\n")
function(dependencies result)
  execute_process(COMMAND "${shlibdeps}" -O --ignore-missing-info ${ARGN} WORKING_DIRECTORY "${shlibdeps_dir}"
                  OUTPUT_VARIABLE found ERROR_VARIABLE errors RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "dpkg-shlibdeps ended with ${failed}:\n${errors}")
  endif()
  string(REPLACE "shlibs:Depends=" "" found "${found}")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

file(GLOB programs "${runtime}/usr/bin/*")
file(GLOB_RECURSE libraries "${runtime}/usr/lib/liblenslet.so*")
file(GLOB_RECURSE modules "${runtime}/usr/lib/lenslet_*onednn.so")
dependencies(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS ${programs} ${libraries})
if(modules)
  # Only those that the programs do not depend on.
  dependencies(of_modules ${modules})
  string(REPLACE ", " ";" of_modules "${of_modules}")
  list(FILTER of_modules INCLUDE REGEX "dnnl|onednn")
  list(JOIN of_modules ", " CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS)
endif()
message(STATUS "lenslet depends on ${CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS}; "
        "recommends: ${CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS}")
