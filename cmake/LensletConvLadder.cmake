# lenslet_conv_rung(<algorithm> <NN_idea> "the one change"): adds layers/conv/gpu/ladder/<algorithm>/<NN_idea>.cu and one
# row of the generated table that tests and `convbench ladder` iterate.
function(lenslet_conv_rung algorithm rung change)
  if(LENSLET_HAS_CUDA)
    set_property(GLOBAL APPEND PROPERTY LENSLET_RUNG_SOURCES "${algorithm}/${rung}.cu")
    set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_RUNG_ROWS "LENSLET_CONV_RUNG(${algorithm}, ${rung}, \"${change}\")\n")
  endif()
endfunction()

# lenslet_conv_ladder_end(<algorithm> "what the product adds"): the backend of that name is the ladder's last rung.
function(lenslet_conv_ladder_end algorithm change)
  if(LENSLET_HAS_CUDA)
    set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_RUNG_ROWS "LENSLET_CONV_LADDER_END(${algorithm}, \"${change}\")\n")
  endif()
endfunction()

# The target of the ladders, outside the library, which needs none of the slower versions.
function(lenslet_conv_ladder_library)
  get_property(rows GLOBAL PROPERTY LENSLET_RUNG_ROWS)
  get_property(sources GLOBAL PROPERTY LENSLET_RUNG_SOURCES)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/layers/conv/gpu/ladder/conv_ladder_table.inc"
       CONTENT "// Generated from the rows of layers/conv/gpu/ladder/CMakeLists.txt.\n@rows@" @ONLY)
  lenslet_library(lenslet_conv_ladder SOURCES conv_ladder.cpp ${sources} DEPENDS lenslet_conv)
endfunction()
