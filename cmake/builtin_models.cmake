# mha_builtin_model(TARGET NAME FOLDER): puts the JSON, text and safetensors files of a model's folder into TARGET and
# adds their rows to the table that src/model/builtin_models.cpp includes. mha_builtin_table writes that table.
set_property(GLOBAL PROPERTY MHA_BUILTIN_DECLARATIONS "")
set_property(GLOBAL PROPERTY MHA_BUILTIN_ROWS "")

function(mha_builtin_model target name folder)
  file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS
       ${folder}/*.json ${folder}/*.safetensors ${folder}/vocab.txt)
  list(SORT files)
  foreach(file IN LISTS files)
    string(MAKE_C_IDENTIFIER "${name}_${file}" symbol)
    mha_embed(${target} ${symbol} ${folder}/${file})
    set_property(GLOBAL APPEND_STRING PROPERTY MHA_BUILTIN_DECLARATIONS
      "extern \"C\" const unsigned char mha_embedded_${symbol}[];\n"
      "extern \"C\" const std::size_t mha_embedded_${symbol}_size;\n")
    set_property(GLOBAL APPEND_STRING PROPERTY MHA_BUILTIN_ROWS
      "    {\"${name}\", \"${file}\", mha_embedded_${symbol}, &mha_embedded_${symbol}_size},\n")
  endforeach()
endfunction()

function(mha_builtin_table target)
  get_property(declarations GLOBAL PROPERTY MHA_BUILTIN_DECLARATIONS)
  get_property(rows GLOBAL PROPERTY MHA_BUILTIN_ROWS)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/builtin/builtin_table.inc @ONLY CONTENT
"@declarations@
const BuiltinFile kBuiltinFiles[] = {
@rows@};
")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/builtin)
endfunction()
