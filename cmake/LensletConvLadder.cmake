# Sets `result` to whether the build has the rungs of a row with these options.
function(lenslet_has_rungs options result)
  set(has "${LENSLET_HAS_CUDA}")
  if(has AND "HOPPER" IN_LIST options)
    lenslet_builds_for_hopper(has)
  endif()
  set(${result} "${has}" PARENT_SCOPE)
endfunction()

# lenslet_conv_rung(<algorithm> <NN_idea> "the one change" [HOPPER]): adds
# layers/conv/gpu/ladder/<algorithm>/<NN_idea>.cu and one row of the generated table that tests and `convbench ladder`
# iterate. HOPPER: builds the file for sm_90a only and only if the build includes that GPU; else there is no such row.
function(lenslet_conv_rung algorithm rung change)
  lenslet_has_rungs("${ARGN}" has)
  if(has)
    set(sources LENSLET_RUNG_SOURCES)
    if("HOPPER" IN_LIST ARGN)
      set(sources LENSLET_HOPPER_RUNG_SOURCES)
    endif()
    set_property(GLOBAL APPEND PROPERTY ${sources} "${algorithm}/${rung}.cu")
    set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_RUNG_ROWS "LENSLET_CONV_RUNG(${algorithm}, ${rung}, \"${change}\")\n")
  endif()
endfunction()

# lenslet_conv_ladder_end(<algorithm> "what the product adds" [HOPPER]): the backend of that name is the ladder's last
# rung.
function(lenslet_conv_ladder_end algorithm change)
  lenslet_has_rungs("${ARGN}" has)
  if(has)
    set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_RUNG_ROWS "LENSLET_CONV_LADDER_END(${algorithm}, \"${change}\")\n")
  endif()
endfunction()

# The target of the ladders, outside the library, which needs none of the slower versions.
function(lenslet_conv_ladder_library)
  get_property(rows GLOBAL PROPERTY LENSLET_RUNG_ROWS)
  get_property(rungs GLOBAL PROPERTY LENSLET_RUNG_SOURCES)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/layers/conv/gpu/ladder/conv_ladder_table.inc"
       CONTENT "// Generated from the rows of layers/conv/gpu/ladder/CMakeLists.txt.\n@rows@" @ONLY)
  get_property(hopper_files GLOBAL PROPERTY LENSLET_HOPPER_RUNG_SOURCES)
  if(hopper_files)
    lenslet_hopper_object(lenslet_conv_ladder_hopper "${hopper_files}" rungs)
  endif()
  lenslet_library(lenslet_conv_ladder SOURCES conv_ladder.cpp ${rungs} DEPENDS lenslet_conv)
endfunction()
