# cmake -DPROGRAM=file -DNAME=name -DFOLDER=folder -P print_pages.cmake
# Writes the pages that the program prints about its command line: NAME.1, NAME.bash and _NAME.
file(MAKE_DIRECTORY "${FOLDER}")
# print(<file> <arguments…>)
function(print file)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${PROGRAM} ${ARGN} ended with ${failed}")
  endif()
  file(WRITE "${FOLDER}/${file}" "${text}")
endfunction()
print(${NAME}.1 man)
print(${NAME}.bash completion bash)
print(_${NAME} completion zsh)
